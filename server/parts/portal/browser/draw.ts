import { h, options, type VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { html, makeBy } from "../../../shared/browser/html.ts";
import type { Ask } from "./answers.ts";
import { Lacking } from "./api.ts";
import { setParameters } from "./choice.ts";
import { type Draw, drawIn } from "./context.ts";
import { Explore } from "./explore.ts";
import { Hospital } from "./facility.ts";
import { Frame, type Page } from "./frame.ts";
import { htmlText } from "./html-text.ts";
import { NeedsScript } from "./without-script.ts";

/** Draws pages as HTML on the server, with the same components as in the browser. */

makeBy(htmlText);

/** A drawn element with its component. Preact's files have these short names for the fields. */
interface Drawn extends VNode {
  __c?: { props: unknown; __v: unknown } | null;
}

const drawnBefore = options.diffed;

/**
 * Removes what a drawn component was drawn from. A component that calls `useState` survives V8's collections of young
 * garbage, and would keep all rows of its list until the next full collection.
 */
options.diffed = (element: Drawn) => {
  drawnBefore?.(element);
  if (element.__c) Object.assign(element.__c, { props: null, __v: null });
};

/** The titles of the pages that need a script, by path. */
const others: Readonly<Record<string, string>> = {
  "/data": "The data",
  "/reference": "The API",
  "/signup": "Get a key",
  "/account": "Your account",
};

const Missing: Page = () =>
  html`<h1>There is no page here</h1><p><a href="/">Explore what hospitals charge</a></p>`;

function pageAt(path: string, isSignup: boolean): Page {
  if (path === "/" || path.startsWith("/embed")) return Explore;
  if (path.startsWith("/facilities/")) return Hospital;
  const title = path === "/signup" && !isSignup ? "Keys" : others[path];
  return title === undefined ? Missing : () => html`<${NeedsScript} title=${title} />`;
}

/** The host isn't shown in pages. A page is the same at all addresses of the server. */
const origin = "http://page.invalid";

const lacking: Ask = (...paths) => {
  throw new Lacking(paths);
};

export const draw: Draw = (path, query, settings, ask) => {
  let address = new URL(`${origin}${path}${query}`);
  const drawn = { title: "", description: "", isMissing: false };
  drawIn({
    settings,
    url: () => address,
    ownKey: () => null,
    ask: ask ?? lacking,
    typedIn: () => null,
    entitle: (title, description) => Object.assign(drawn, { title, description }),
    misses: () => Object.assign(drawn, { isMissing: true }),
    means(changes) {
      address = new URL(address);
      setParameters(address.searchParams, changes);
    },
  });
  const page = pageAt(path, settings.signup !== "off");
  return { body: renderToString(h(Frame, { page })), ...drawn };
};
