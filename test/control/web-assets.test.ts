import assert from "node:assert/strict";
import { test } from "node:test";
import { headOf, pageOf, readAssets } from "../../server/shared/web-assets.ts";
import { assertApproved } from "../support/approved.ts";

/** Tests the HTML around pages, and the names of their assets. */

test("a page's HTML and headers are as they were approved, with and without a script", () => {
  const assets = { files: [], url: (name: string) => `/assets/${name}` };
  const texts = [
    pageOf(assets, "/a", {
      head: headOf("Prices & <more>", 'What "they" cost'),
      body: ["<body>", "text</body>"],
      ...{ style: "a.css", script: "a.ts", settings: { text: "</script>" } },
    }),
    pageOf(assets, "/b", {
      head: "",
      body: [],
      style: "b.css",
      framedBy: ["https://a.example", "https://b.example"],
    }),
  ].map(({ file, parts }) => {
    const html = Buffer.from(file.bodies.identity).toString();
    assert.ok(parts.every((part) => html.includes(part)));
    return `${file.path}\n${file.head}\n\n${html}`;
  });
  assertApproved("html.txt", texts.join("\n"));
});

test("an added file's address changes with its content, and a file that isn't there is a mistake", () => {
  const of = (text: string) => readAssets("/console/", "parts/console", { "map.svg": text });
  const [assets, other] = [of("<svg/>"), of("<svg> </svg>")];
  assert.match(assets.url("map.svg"), /^\/console\/map-[\w-]{8}\.svg$/);
  assert.notEqual(assets.url("map.svg"), other.url("map.svg"));
  assert.equal(assets.url("console.ts"), other.url("console.ts"));
  const types = assets.files.map(({ path, head }) => [path, /Content-Type: (.*)/.exec(head)?.[1]]);
  assert.deepEqual(Object.fromEntries(types), {
    [assets.url("console.css")]: "text/css; charset=utf-8",
    [assets.url("console.ts")]: "text/javascript; charset=utf-8",
    [assets.url("map.svg")]: "image/svg+xml",
  });
  assert.ok(assets.files.every(({ head }) => head.includes("immutable")));
  assert.throws(() => assets.url("no.ts"), { message: "no asset no.ts below /console/, expected one" });
});
