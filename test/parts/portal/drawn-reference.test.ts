import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../../server/api/errors.ts";
import { openapiDocument as openapiBytes } from "../../../server/api/openapi.ts";
import {
  type Any,
  all,
  answer,
  button,
  drawn,
  fire,
  one,
  open,
  others,
  requests,
  settings,
  textOf,
  texts,
  type,
  view,
} from "../../support/drawn-page.ts";
import { type FakeElement, FakeEvent, hearInWindow, kept, observers, place } from "../../support/fake-dom.ts";

/** Tests that the page of the API describes each operation, and sends the request that it shows. */

const openapiDocument: Any = JSON.parse(openapiBytes().toString());

/** The part of the document that a reference names. */
function followed(part: Any): Any {
  if (typeof part?.$ref !== "string") return part;
  let at = openapiDocument;
  for (const name of part.$ref.slice(2).split("/")) at = at[name];
  return followed(at);
}

const openReference = () => {
  others.set("/api/v1/openapi.json", () => openapiDocument);
  return view("reference", "/reference#prices");
};
const commandOf = (section: FakeElement) => all(one(section, ".command"), "pre")[0].textContent;

test("each operation has its parameters, fields and errors, and an example request with an answer", async () => {
  const root = await openReference();
  const opened = all(root, "details.operation").filter((details) => details.open);
  assert.deepEqual(
    opened.map((details) => details.getAttribute("id")),
    ["prices"],
  );
  for (const [path, { get }] of Object.entries<Any>(openapiDocument.paths)) {
    const section = one(root, `[id="${get.operationId}"]`);
    if (!section.open) {
      section.open = true;
      await fire(section, "toggle");
    }
    const text = textOf(section);
    const parameters = get.parameters.map(followed).filter((one: Any) => one.in !== "header");
    const names = texts(section, ".parameters dt code");
    for (const { name, required } of parameters) {
      assert.ok(names.includes(name), `${path}: ${name}`);
      const said = all(section, ".parameters dt").find((dt) => textOf(one(dt, "code")) === name);
      assert.equal(
        /required/.test(textOf(said)),
        required === true && name !== "version",
        `${path}: ${name}`,
      );
    }
    const status = /<b[^>]*>|\b(\d{3})\b/.exec(textOf(all(section, ".shown")[0]))?.[1];
    const sent = /"http:..prices.test(.*)"$/.exec(commandOf(section))?.[1] ?? "";
    assert.ok(
      requests.some((request) => request.path === sent),
      sent,
    );
    const isFile = /export|openapi/.test(path);
    if (!isFile && !path.includes("usage")) {
      assert.equal(status, "200", `${path}: ${text.slice(0, 300)}`);
      assert.deepEqual(
        JSON.parse(
          all(section, ".shown pre")[0].textContent.split("\n").length < 200
            ? all(section, ".shown pre")[0].textContent
            : "null",
        ) ?? answer(sent.slice(7)),
        answer(sent.slice(7)),
        path,
      );
    }
    const types = all(section, "details.more table tbody tr").map((row) =>
      texts(row, "td").slice(0, 2).join(" "),
    );
    for (const [status, response] of Object.entries<Any>(get.responses))
      for (const [, type] of status >= "400" ? followed(response).description.matchAll(/`(\w+)`: /g) : [])
        assert.ok(types.includes(`${status} ${type}`), `${path}: ${status} ${type}`);
    const fields = all(section, "details.more summary")
      .map(textOf)
      .find((each) => each.endsWith("fields"));
    const schema = followed(followed(get.responses[200])?.content?.["application/json"]?.schema);
    if (schema?.properties !== undefined)
      for (const name of Object.keys(schema.properties))
        assert.ok(names.includes(name), `${path}: ${name} of ${fields}`);
  }
  others.clear();
});

test("a file is shown as far as its first bytes, if it is text", async () => {
  const root = await openReference();
  const section = one(root, '[id="exportCsv"]');
  section.open = true;
  await fire(section, "toggle");
  const shownFor = async (type: string, pieces: readonly string[], length: number, status = 200) => {
    let isStopped = false;
    const left = [...pieces];
    const body = new ReadableStream(
      {
        pull(stream) {
          const piece = left.shift();
          if (piece === undefined) stream.close();
          else stream.enqueue(new TextEncoder().encode(piece));
        },
        cancel() {
          isStopped = true;
        },
      },
      { highWaterMark: 0 },
    );
    others.set(
      "/api/v1/export.csv",
      () =>
        new Response(body, { status, headers: { "Content-Type": type, "Content-Length": String(length) } }),
    );
    await fire(one(section, "form"), "submit");
    const shown = one(section, ".shown");
    return {
      text: one(shown, "pre").textContent,
      said: texts(shown, "p.small").join(),
      isStopped,
      left: left.length,
      status: textOf(one(shown, "p")),
    };
  };
  const row = `${"x".repeat(8191)}\n`;
  const more = "… and so on. The curl command gives the whole answer.";
  const long = await shownFor("text/csv", [row, row, row, row], 4 * row.length);
  assert.deepEqual([long.text, long.said, long.isStopped, long.left], [row + row, more, true, 2]);
  const short = await shownFor("text/csv; charset=utf-8", ["a,b\r\n"], 5);
  assert.deepEqual([short.text, short.said], ["a,b\r\n", ""]);
  for (const [lines, said] of [
    [200, ""],
    [201, more],
  ] as const) {
    const { text, ...shown } = await shownFor("text/csv", ["1\n".repeat(lines - 1)], 2 * lines - 2);
    assert.deepEqual([text.split("\n").length, shown.said], [200, said]);
  }
  const unreadable = await shownFor("application/vnd.apache.arrow.stream", ["ARROW"], 5);
  assert.deepEqual(
    [unreadable.text, unreadable.said],
    ["", "This file isn't text. The curl command saves it with -O, or download it from the page Data."],
  );
  others.set("/", () => settings);
  const refused = await shownFor("application/json", ["{}"], 2, 401);
  assert.match(refused.status, /^401.*Get a key or paste yours\.$/);
  others.clear();
});

test("without data or without signup, the reference says so, and marks the section that is read", async (t) => {
  others.set("/api/v1/openapi.json", () => openapiDocument);
  others.set("/api/v1/healthcare/procedures", () => {
    throw new ApiError("internal_error", "no");
  });
  // Answers of earlier pages are kept for five minutes.
  const later = Date.now() + 300_000;
  const { mock } = t.mock.method(Date, "now", () => later);
  let root = await open("reference", "/reference", { signup: "off" });
  mock.restore();
  const first = one(root, ".first");
  assert.ok(textOf(first).includes("You get a key from whoever runs this server."));
  assert.ok(textOf(first).includes("With the synthetic sample that a first start writes, the answer is:"));
  assert.ok(
    all(root, "pre").some((pre) =>
      pre.textContent.includes('rows("/api/v1/healthcare/prices?procedure=5115")'),
    ),
  );
  const current = () => all(root, 'nav.contents a[aria-current="true"]').map((a) => a.getAttribute("href"));
  assert.deepEqual(current(), []);
  observers.at(-1)?.see([
    { isIntersecting: false, target: one(root, '[id="search"]') },
    { isIntersecting: true, target: one(root, '[id="trends"]') },
  ]);
  await drawn();
  assert.deepEqual(current(), ["#trends"]);
  place.url = new URL("#trends", place.url);
  hearInWindow(new FakeEvent("hashchange"));
  await drawn();
  assert.equal(one(root, '[id="trends"]').open, true);
  assert.equal(one(root, '[id="search"]').open, false);
  kept.setItem("hcqs-key", "hcq_own");
  root = await open("reference", "/reference");
  assert.match(textOf(one(root, ".first")), /This browser has a key: see your account\./);
  kept.removeItem("hcqs-key");
  others.clear();
});

test("a changed form is another request, in each language, and its answer is shown as it is", async () => {
  const root = await openReference();
  const section = one(root, '[id="prices"]');
  const fields = new Map(
    all(section, "form .entry").map((entry) => [textOf(one(entry, "label")), one(entry, "input, select")]),
  );
  await type(fields.get("procedure"), "5112");
  await type(fields.get("limit"), "1");
  assert.equal(all(section, ".shown").length, 0, "the former answer isn't this request's");
  assert.match(
    commandOf(section),
    /"http:\/\/prices\.test\/api\/v1\/healthcare\/prices\?(procedure=5112&limit=1|limit=1&procedure=5112)"$/,
  );
  await fire(one(section, "form"), "submit");
  const { path, key } = requests.at(-1) ?? {};
  assert.equal(key, "hcq_pages");
  assert.deepEqual(JSON.parse(all(section, ".shown pre")[0].textContent), answer(path?.slice(7) ?? ""));
  for (const language of ["Python", "TypeScript"]) {
    await fire(button(section, language), "click");
    assert.equal(button(section, language)?.getAttribute("aria-pressed"), "true");
    assert.ok(commandOf(section).includes(`"http://prices.test${path}"`), commandOf(section));
  }
  await type(fields.get("version"), "2022.1");
  await fire(one(section, "form"), "submit");
  assert.match(requests.at(-1)?.path ?? "", /^\/api\/v1\/versions\/2022\.1\/healthcare\/prices\?/);
  await type(fields.get("procedure"), "9999");
  await fire(one(section, "form"), "submit");
  assert.match(textOf(one(section, ".shown")), /^404 /);
  assert.match(textOf(section), /From the synthetic sample that a first start writes/);
  // The first request and its answer are of the loaded data.
  const first = one(root, ".first");
  const [most] = answer("/healthcare/procedures?sort=facilities&limit=1").data;
  const asked = `/api/v1/healthcare/prices?procedure=${most.code}&limit=2`;
  assert.ok(commandOf(first).endsWith(`"http://prices.test${asked}"`));
  assert.deepEqual(JSON.parse(all(first, "pre").at(-1)?.textContent ?? ""), answer(asked.slice(7)));
  assert.ok(textOf(first).includes("The answer:") && textOf(first).includes("Get a key: it is free."));
  const contents = all(one(root, "nav.contents"), "a").map((a) => a.getAttribute("href")?.slice(1));
  const ids = new Set(all(root, "[id]").map((each) => each.getAttribute("id")));
  for (const id of contents) assert.ok(ids.has(id ?? ""), `#${id} leads to something`);
  assert.ok(
    all(root, "pre").some((pre) =>
      pre.textContent.includes(`rows("/api/v1/healthcare/prices?procedure=${most.code}")`),
    ),
  );
  others.clear();
});
