import assert from "node:assert/strict";
import { test } from "node:test";
import type { ComponentChildren, VNode } from "preact";
import { renderToString } from "preact-render-to-string";

/** Tests that elements made as text are what Preact makes of the same templates in a browser. */

type Tag = (texts: TemplateStringsArray, ...values: unknown[]) => VNode;

// Browsers' modules are checked with other types than the tests.
const moduleAt = (path: string) => import(String(new URL(`../../../server/${path}`, import.meta.url)));
const { html: elements }: { html: Tag } = await moduleAt("shared/browser/html.ts");
const { htmlText }: { htmlText: Tag } = await moduleAt("parts/portal/browser/html-text.ts");

const views: Record<string, (html: Tag) => VNode> = {
  "texts and values": (html) =>
    html`<p class="a">1 ${"<"} ${2} & "${'"<&'}" ${0} ${null}${false}${undefined}${true}.</p>`,
  attributes: (html) =>
    html`<a href=${"/?a=1&b=2"} class=${`x ${"y"}`} title="t${1}u" hidden=${true} id=${null} lang=${undefined} aria-busy=${false} data-x=${true} ...${{ rel: "next", target: "_blank" }}>go</a>`,
  "elements without content": (html) => html`<div><br /><input value=${3} disabled=${false} /><hr /></div>`,
  lists: (html) => html`<ul>${[1, 2].map((i) => html`<li key=${i}>${i}</li>`)}${[]}</ul>`,
  "elements within values": (html) =>
    html`<p>a ${html`<b>b</b> c`} d ${html`<i>${html`<u>e</u>`}</i>`} f</p>`,
  "components between texts": (html) => {
    const Bold = ({ of, children }: { of: string; children?: ComponentChildren }) =>
      html`<b>${of}${children}</b>`;
    return html`<div>a ${html`<p>b <${Bold} of="c" /> d <${Bold} of=${"e"}> f ${1}<i>g</i><//> h</p>`} i <${Bold} ...${{ of: "j" }} /> k</div>`;
  },
  "components within components": (html) => {
    const Inner = ({ n }: { n: number }) => html`<i>${n}</i>${n > 1 && html`<${Inner} n=${n - 1} /> and`}`;
    return html`<p>${[3, 1].map((n) => html`<${Inner} n=${n} />;`)} end</p>`;
  },
};

for (const [name, view] of Object.entries(views))
  test(`${name} are the same as text`, () => {
    // Elements without content end in the same way for a browser.
    const expected = renderToString(view(elements)).replaceAll("/>", ">");
    assert.ok(expected.length > 10);
    // A template is read once, and drawn again with what was kept.
    for (let i = 0; i < 2; i++) assert.equal(renderToString(view(htmlText)), expected);
  });
