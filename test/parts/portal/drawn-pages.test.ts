import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../../server/api/errors.ts";
import { whole } from "../../../server/shared/browser/format.ts";
import {
  type Any,
  all,
  answer,
  asksToStay,
  button,
  click,
  drawn,
  fileBytes,
  fire,
  one,
  open,
  others,
  requests,
  settings,
  textOf,
  texts,
  type,
} from "../../support/drawn-page.ts";
import { copies, type FakeElement, kept, page, saved } from "../../support/fake-dom.ts";

/** Tests the pages of data versions, accounts, signup and the API. */

const labelled = (root: FakeElement, label: string) =>
  all(root, "pre")
    .filter((pre) => pre.getAttribute("aria-label") === label)
    .map((pre) => pre.textContent);

test("each data version is shown with its own numbers, statements, gaps and files", async () => {
  const { data } = answer("/datasets");
  for (const name of ["2024.1", "2023.1", "2020.1"]) {
    const version = data.find((one: Any) => one.data_version === name);
    const root = await open("data", `/data?year=${version.data_version}`);
    const opened = all(root, "details.version").filter((details) => details.open);
    assert.deepEqual(
      opened.map((details) => details.getAttribute("id")),
      [version.data_version],
    );
    const [card] = opened;
    const text = textOf(card);
    assert.equal(textOf(one(card, "h2")), version.data_version);
    const sums = all(card, "dl.facts code").map(textOf);
    assert.ok(sums.includes(version.content_sha256));
    assert.equal(sums.includes(version.verify?.sha256), version.verify !== null);
    assert.deepEqual(labelled(card, "Checksum of the rows"), [version.content_sql]);
    assert.deepEqual(labelled(card, "Rows and sums"), version.verify === null ? [] : [version.verify.sql]);
    if (version.verify !== null) assert.ok(text.includes(`CMS's file ${version.verify.file}`));
    assert.ok(
      text.includes(version.title) && text.includes(version.publisher) && text.includes(version.caveat),
    );
    assert.ok(text.includes(version.coverage.states.join(" ")));
    assert.ok(
      text.includes(
        version.released === null ? "The release date is unknown." : `Released ${version.released}.`,
      ),
    );
    assert.equal(
      all(card, "a")
        .find((a) => textOf(a) === "The source")
        ?.getAttribute("href"),
      version.source_url ?? undefined,
    );
    const [citation] = labelled(card, "Citation");
    for (const part of [
      version.publisher,
      version.title,
      `Version ${version.data_version}.`,
      version.released ? `(${version.released})` : "",
      `http://prices.test/data#${version.data_version}`,
      version.content_sha256,
    ])
      assert.ok(citation.includes(part), `${part} in ${citation}`);
    const missing = texts(one(card, "section ul:not(.downloads)"), "li");
    for (const { state } of version.coverage.missing_states)
      assert.equal(
        missing.filter((line) => new RegExp(`\\b${state}\\b`).test(line.split(":")[0])).length,
        1,
        state,
      );
    for (const code of version.coverage.procedures_without_prices)
      assert.ok(missing.at(-1)?.split(":")[0].includes(code), code);
    assert.match(missing.find((line) => line.includes("MD")) ?? "", /Maryland sets its own hospital prices/);
    if (version.totals) {
      const { checked, agree, worst } = version.totals;
      assert.ok(
        text.includes(agree === checked ? `all ${checked} totals` : `${agree} of ${checked} totals`),
        text,
      );
      assert.equal(text.includes(worst), agree !== checked);
    }
    for (const ending of ["csv", "arrow", "parquet"])
      assert.ok(
        requests.some(
          ({ path, method }) =>
            path === `/api/v1/versions/${version.data_version}/export.${ending}` && method === "HEAD",
        ),
      );
    assert.ok(
      labelled(card, "Command")[0].endsWith(
        `"http://prices.test/api/v1/versions/${version.data_version}/export.csv"`,
      ),
    );
    for (const tool of ["CSV in DuckDB", "CSV in pandas", "CSV in R", "Parquet in DuckDB", "Arrow in Python"])
      assert.ok(labelled(card, `Loading by ${tool}`)[0].includes(`opps-${version.data_version}.`));
    const rows = all(root, ".figures tbody tr").map((row) => texts(row, "td"));
    assert.deepEqual(
      rows,
      data.map((one: Any) => [
        one.data_version,
        one.status,
        ...[
          one.rows,
          one.priced_rows,
          one.suppressed_rows,
          one.incomplete_rows,
          one.facilities,
          one.procedures,
        ].map(whole),
        one.released ?? "–",
      ]),
    );
    const years = new Set(data.map((one: Any) => one.data_year)).size;
    assert.ok(textOf(one(root, "p.lead")).startsWith(`${data.length} versions of ${years} years.`));
    const states = all(root, "summary")
      .filter((each) => all(each, "h2").length > 0)
      .map(textOf);
    for (const [i, one] of data.entries())
      assert.ok(
        states[i].includes(
          {
            current: "current: ",
            available: "newest version of an earlier year",
            superseded: "replaced by a newer version",
          }[one.status as string] ?? "?",
        ),
        states[i],
      );
  }
  const root = await open("data", "/data");
  assert.deepEqual(
    all(root, "details.version")
      .filter((details) => details.open)
      .map((details) => details.getAttribute("id")),
    [data[0].data_version],
  );
});

test("the page of the data downloads a file under its version's name, and shows its size", async () => {
  others.set("/api/v1/versions/2024.1/export.csv", () => ({ long: "x".repeat(123_000) }));
  others.set("/api/v1/versions/2024.1/export.arrow", () => ({}));
  const root = await open("data", "/data");
  const [csv, arrow, parquet] = all(root, ".downloads li");
  assert.equal(textOf(one(parquet, ".size")), `${(fileBytes / 1e6).toFixed(1)} MB`);
  await click(button(csv, "CSV"));
  assert.equal(saved.at(-1), "opps-2024.1.csv");
  assert.ok(textOf(csv).includes("opps-2024.1.csv is saved."), textOf(csv));
  await click(button(arrow, "Arrow"));
  assert.equal(saved.at(-1), "opps-2024.1.arrow");
  const last = requests.at(-1);
  assert.deepEqual([last?.path, last?.key], ["/api/v1/versions/2024.1/export.arrow", settings.key]);
  others.clear();
});

const ownKey = `hcq_${"k".repeat(45)}WXYZ`;
const keyRows = [
  {
    id: 1,
    last4: "aaaa",
    label: null,
    state: "revoked",
    created: "2026-01-02T03:04:05.000Z",
    expires: null,
    is_this: false,
  },
  {
    id: 2,
    last4: "WXYZ",
    label: "mine",
    state: "active",
    created: "2026-02-03T04:05:06.000Z",
    expires: null,
    is_this: true,
  },
  {
    id: 3,
    last4: "cccc",
    label: "old",
    state: "active",
    created: "2026-03-04T05:06:07.000Z",
    expires: "2026-12-31T23:59:59.000Z",
    is_this: false,
  },
  {
    id: 4,
    last4: "dddd",
    label: null,
    state: "expired",
    created: "2026-01-05T03:04:05.000Z",
    expires: "2026-01-06T00:00:00.000Z",
    is_this: false,
  },
];
const usage = (used: number, limit: number, days: number[]) => ({
  period: { start: "2026-11-01T00:00:00.000Z", end: "2026-12-01T00:00:00.000Z" },
  quota: { used, limit, remaining: limit - used },
  days: days.map((used, i) => ({ date: `2026-11-${String(i + 1).padStart(2, "0")}`, used })),
});

async function openAccount(
  of: object = usage(1234, 10_000, [1000, 0, 234]),
  keys: object[] = keyRows,
): Promise<FakeElement> {
  others.clear();
  others.set("/portal/account", () => ({
    account: "acme",
    plan: "developer",
    burst: 50,
    email: "a@example.com",
    webhook: null,
  }));
  others.set("/portal/keys", () => ({ keys }));
  others.set("/api/v1/usage", () => of);
  kept.setItem("hcqs-key", ownKey);
  return open("account", "/account");
}

test("the account's usage has the month's numbers, and a bar for each day", async () => {
  for (const [used, limit, days] of [
    [1234, 10_000, [1000, 0, 234]],
    [8000, 10_000, [2000, 6000]],
    [7999, 10_000, [7999]],
    [10_000, 10_000, Array.from({ length: 30 }, (_, i) => (i === 3 ? 10_000 : 0))],
    [1, 10_000, [1]],
  ] satisfies [number, number, number[]][]) {
    const root = await openAccount(usage(used, limit, days));
    assert.ok(
      requests
        .filter(({ path }) => path.startsWith("/portal") || path.endsWith("/usage"))
        .slice(-3)
        .every(({ key }) => key === ownKey),
    );
    assert.equal(
      textOf(one(root, ".figure")),
      `${whole(used)} of ${whole(limit)} this month; ${whole(limit - used)} left until December 1`,
    );
    const meter = one(root, ".meter");
    assert.equal(
      meter.getAttribute("aria-label"),
      `${((100 * used) / limit).toFixed(1)} % of the month's requests are used`,
    );
    assert.ok(
      Math.abs(Number.parseFloat(one(meter, ".used").getAttribute("width") ?? "") - (100 * used) / limit) <
        0.001,
    );
    const level = used >= limit ? "meter bad" : used >= 0.8 * limit ? "meter warn" : "meter ";
    assert.equal(meter.getAttribute("class"), level);
    const bars = all(root, "rect.day");
    assert.equal(bars.length, days.length);
    const heights = bars.map((bar) => Number(bar.getAttribute("height")));
    const most = Math.max(...days);
    for (const [i, day] of days.entries())
      assert.ok(Math.abs(heights[i] * most - Math.max(...heights) * day) < 0.001 * most, `day ${i + 1}`);
    assert.ok(Math.max(...heights) <= 144 && (most < 4 || Math.max(...heights) > 70));
    // A month has thirty places, of which so many are taken as days have passed.
    const places = bars.map((bar) => Number.parseFloat(bar.getAttribute("x") ?? ""));
    for (const [i, x] of places.entries()) {
      const middle = x + Number.parseFloat(bars[i].getAttribute("width") ?? "") / 2;
      assert.ok(Math.abs(middle - (100 * (i + 0.5)) / 30) < 0.4, `day ${i + 1} at ${middle}`);
    }
    assert.deepEqual(all(root, "svg.drawing text").map(textOf).slice(-5), ["1", "8", "15", "22", "30"]);
    await fire(
      all(root, "svg.drawing g").find((g) => all(g, ".day").length === 1 && all(g, "g").length === 0),
      "pointerenter",
    );
    assert.deepEqual(texts(one(root, ".note"), "div"), [
      days[0] === 1 ? "1 request" : `${whole(days[0])} requests`,
      "November 1",
    ]);
    await click(button(root, "Table"));
    assert.deepEqual(
      all(root, ".figures tbody tr").map((row) => texts(row, "td")),
      days.map((used, i) => [`2026-11-${String(i + 1).padStart(2, "0")}`, whole(used)]),
    );
    assert.match(textOf(root), /at most 50 requests a second/);
    assert.match(
      textOf(one(root, ".heading")),
      /^acme ?Plan developer · signed in with the key that ends in WXYZ/,
    );
  }
});

test("keys are listed with what they are, the active ones first, and are made, rotated and revoked", async () => {
  let root = await openAccount();
  const rows = all(root, ".keys li");
  assert.deepEqual(
    rows.map((row) => textOf(one(row, "code"))),
    ["…cccc", "…WXYZ", "…dddd", "…aaaa"],
  );
  assert.deepEqual(
    rows.map((row) => textOf(one(row, ".works"))),
    ["works until 2026-12-31 23:59", "works this browser's", "expired", "revoked"],
  );
  assert.deepEqual(
    rows.map((row) => textOf(one(row, ".made"))),
    ["made 2026-03-04 05:06", "made 2026-02-03 04:05", "made 2026-01-05 03:04", "made 2026-01-02 03:04"],
  );
  assert.deepEqual(
    rows.map((row) => all(row, "button").length),
    [2, 2, 0, 0],
  );
  assert.ok(textOf(rows[1]).includes("mine"));
  const sent: [string, Any][] = [];
  const made = `hcq_${"n".repeat(49)}`;
  for (const name of ["create", "rotate", "revoke"])
    others.set(`/portal/keys/${name}`, (body) => {
      sent.push([name, body]);
      return {
        id: 9,
        key: made,
        expires: body.expires ?? null,
        old: { expires: "2026-12-01T10:00:00.000Z" },
      };
    });
  await click(button(root, "new key"));
  await type(one(root, 'input[type="date"]'), "2027-01-31");
  await fire(
    all(root, "form").find((form) => button(form, "Make the key")),
    "submit",
  );
  assert.deepEqual(sent.pop(), ["create", { expires: "2027-01-31T23:59:59Z" }]);
  assert.match(textOf(root), /A key was made; it works until 2027-01-31 23:59\./);
  assert.deepEqual(labelled(root, "Your new key"), [made]);
  assert.equal(kept.getItem("hcqs-key"), ownKey, "the browser keeps its own key");
  assert.ok(
    labelled(root, "Command").some(
      (text) =>
        text.includes(`Bearer ${made}`) &&
        text.includes('"http://prices.test/api/v1/healthcare/procedures?sort=spread&limit=3"'),
    ),
  );
  await click(all(root, ".new-key button")[0]);
  assert.equal(copies.at(-1), made);

  root = await openAccount();
  others.set("/portal/keys/revoke", (body) => sent.push(["revoke", body]) && {});
  await click(button(all(root, ".keys li")[0], "revoke"));
  const confirm = textOf(one(root, ".confirm"));
  assert.ok(!confirm.includes("signed out") && !confirm.includes("only active key"), confirm);
  await click(button(root, "Revoke …cccc"));
  assert.deepEqual(sent.pop(), ["revoke", { id: 3 }]);
  assert.match(textOf(root), /The key that ends in cccc is revoked\./);

  root = await openAccount(undefined, keyRows.slice(0, 2));
  others.set(
    "/portal/keys/rotate",
    (body) =>
      sent.push(["rotate", body]) && {
        id: 9,
        key: made,
        expires: null,
        old: { expires: "2026-12-01T10:00:00.000Z" },
      },
  );
  others.set("/portal/keys/revoke", (body) => sent.push(["revoke", body]) && {});
  await click(button(root, "revoke"));
  assert.match(textOf(one(root, ".confirm")), /you will be signed out.*only active key/);
  const rotate = async (hours: number) => {
    await click(button(root, "rotate"));
    await type(one(root, 'input[type="number"]'), String(hours));
    await fire(
      all(root, "form").find((form) => button(form, "Make a new key in its place")),
      "submit",
    );
    assert.deepEqual(sent.pop(), ["rotate", { id: 2, overlap_hours: hours }]);
  };
  await rotate(5);
  assert.match(
    textOf(root),
    /The key that ends in WXYZ works until 2026-12-01 10:00\. This browser uses the new one/,
  );
  assert.equal(kept.getItem("hcqs-key"), made);

  await rotate(0);
  assert.match(
    textOf(root),
    /The key that ends in WXYZ doesn't work any more\. This browser uses the new one/,
  );

  root = await openAccount(undefined, keyRows.slice(0, 2));
  others.set("/portal/keys/revoke", (body) => sent.push(["revoke", body]) && {});
  await click(button(root, "revoke"));
  await click(button(root, "Revoke …WXYZ"));
  assert.equal(kept.getItem("hcqs-key"), null);
  assert.match(textOf(root), /The key that ends in WXYZ is revoked\. You are signed out\./);
});

test("the destinations of warnings are shown and changed, and the visitor signs in and out", async () => {
  let root = await openAccount();
  const sent: [string, Any][] = [];
  for (const name of ["email", "webhook"])
    others.set(`/portal/account/${name}`, (body) => sent.push([name, body]) && { secret: "whsec_1" });
  const [email, webhook] = all(one(root, ".warnings"), "form");
  assert.equal(one(email, "input").value, "a@example.com");
  assert.equal(one(webhook, "input").value, "");
  await type(one(email, "input"), "  ");
  await fire(email, "submit");
  assert.deepEqual(sent.pop(), ["email", { email: null }]);
  assert.match(textOf(email), /No e-mail is sent\./);
  await type(one(webhook, "input"), "https://example.com/hook");
  const begun = requests.length;
  await fire(webhook, "submit");
  assert.ok(
    requests.slice(begun).some(({ path }) => path === "/portal/account"),
    "what was changed is asked for again",
  );
  assert.deepEqual(sent.pop(), ["webhook", { url: "https://example.com/hook" }]);
  assert.match(textOf(webhook), /Warnings are posted to https:\/\/example\.com\/hook\./);
  assert.deepEqual(labelled(root, "The webhook's signing secret"), ["whsec_1"]);
  await click(button(root, "Sign out"));
  assert.equal(kept.getItem("hcqs-key"), null);
  assert.match(textOf(root), /You are signed out: this browser has forgotten the key\./);
  await type(one(root, "input"), "hcq_short");
  await fire(one(root, "input"), "blur");
  assert.match(textOf(root), /A key has 53 characters/);
  await type(one(root, "input"), ` ${ownKey} `);
  await fire(one(root, "form"), "submit");
  assert.equal(kept.getItem("hcqs-key"), ownKey);
  assert.match(textOf(root), /acme/);
  assert.equal(requests.filter(({ path }) => path === "/portal/account").at(-1)?.key, ownKey);
  kept.removeItem("hcqs-key");
  root = await open("account", "/account", { signup: "off" });
  assert.match(textOf(root), /You get one from whoever runs this server/);
  others.clear();
});

test("the form of the signup refuses what the server would, and shows the key that it gets", async () => {
  kept.removeItem("hcqs-key");
  const sent: Any[] = [];
  const made = `hcq_${"s".repeat(49)}`;
  let reply: object = { account: "ann-1", plan: "free", key: made };
  others.set("/portal/signup", (body) => sent.push(body) && reply);
  let root = await open("signup", "/signup");
  assert.match(textOf(root), /10 requests a second, 10,000 a month\. These pages need no key\./);
  const fill = async (name: string, email: string) => {
    await type(one(root, 'input[name="name"]'), name);
    await type(one(root, 'input[name="email"]'), email);
    for (const field of all(root, "form.fields input")) await fire(field, "blur");
    await fire(one(root, "form.fields"), "submit");
    await new Promise((done) => setTimeout(done, 3));
    await drawn();
  };
  for (const [name, email, message] of [
    ["", "a@example.com", "Enter your name."],
    ["x".repeat(101), "a@example.com", "A name has"],
    ["Ann", "", "Enter your e-mail address."],
    ["Ann", "nobody", "This must be"],
  ]) {
    await fill(name, email);
    assert.ok(textOf(root).includes(message), message);
  }
  assert.equal(sent.length, 0);
  await fill("Ann", "ann@example.com ");
  const { elapsedMs, ...rest } = sent[0];
  assert.ok(elapsedMs >= 0);
  assert.deepEqual(rest, { name: "Ann", email: "ann@example.com ", website: "" });
  assert.match(textOf(root), /Here is your key ?Your account is ann-1, on the free plan\./);
  assert.equal(kept.getItem("hcqs-key"), made, "the browser keeps its first key");
  const box = one(root, 'input[type="checkbox"]');
  assert.equal(box.checked, true);
  assert.equal(asksToStay(), false);
  box.checked = false;
  await fire(box, "change");
  assert.equal(kept.getItem("hcqs-key"), null);
  assert.equal(asksToStay(), true, "nobody else has the key");
  box.checked = true;
  await fire(box, "change");
  assert.equal(kept.getItem("hcqs-key"), made);
  root = await open("signup", "/signup");
  assert.match(textOf(root), /This browser has a key already/);
  kept.removeItem("hcqs-key");
  reply = { sent: true };
  root = await open("signup", "/signup", { signup: "email", key: null });
  assert.ok(button(root, "Send me the link"));
  assert.doesNotMatch(textOf(root), /need no key/);
  await fill("Ann", "ann@example.com ");
  assert.match(
    textOf(root),
    /If ann@example\.com may have a key, we have sent a link to it\. The link is valid for 24 hours\./,
  );
  others.set(
    "/portal/signup/confirm",
    (body) => sent.push(body) && { account: "ann-2", plan: "free", key: made },
  );
  root = await open("signup", "/signup?token=abc");
  await click(button(root, "Make my key"));
  assert.deepEqual(sent.at(-1), { token: "abc" });
  assert.match(textOf(root), /Your account is ann-2/);
  kept.removeItem("hcqs-key");
  root = await open("signup", "/signup", { signup: "off" });
  assert.match(textOf(root), /Signup is closed/);
  others.clear();
});

const fails = (type: ConstructorParameters<typeof ApiError>[0], message: string, param?: string) => () => {
  throw new ApiError(type, message, param === undefined ? {} : { param });
};

test("without its usage or its data, an account's page says why, and tries again", async () => {
  let root = await openAccount();
  others.set("/api/v1/usage", fails("rate_limit_exceeded", "the month's requests are used up"));
  root = await open("account", "/account");
  assert.equal(
    textOf(one(root, ".band.wrong")),
    "The month's requests are used up. Keys and warnings can be changed meanwhile. Try again",
  );
  others.set("/api/v1/usage", () => usage(0, 0, [0]));
  await click(button(root, "Try again"));
  assert.equal(textOf(one(root, ".figure")), "0 of 0 this month; 0 left until December 1");
  assert.equal(one(root, ".meter").getAttribute("class"), "meter bad");
  others.set("/portal/account", fails("internal_error", "it broke"));
  root = await open("account", "/account");
  assert.equal(textOf(one(root, ".band.wrong")), "That didn't work: it broke. Try again");
  assert.deepEqual(texts(root, "button"), ["Try again", "Sign out"]);
  await click(button(root, "Sign out"));
  assert.equal(kept.getItem("hcqs-key"), null);
  others.clear();
});

test("what an account's forms get refused is said at the field, or below the form", async () => {
  let root = await openAccount();
  const forms = () => all(one(root, ".warnings"), "form");
  const save = async (form: FakeElement, text: string) => {
    await type(one(form, "input"), text);
    await fire(form, "submit");
    return texts(form, ".error, .good").filter(Boolean);
  };
  for (const [name, [kind, message, param], said] of [
    ["email", ["invalid_parameter", "email is x, expected an address", "email"], "This must be an address."],
    ["email", ["missing_parameter", "the field email is required", "email"], "This is needed."],
    ["email", ["invalid_parameter", "too long", "email"], "Too long."],
    ["email", ["invalid_parameter", "too long!", "url"], "Too long!"],
    [
      "email",
      ["service_unavailable", "nothing can be changed now; try again later"],
      "Nothing can be changed now; try again later.",
    ],
    [
      "webhook",
      ["invalid_api_key", "no"],
      "The server doesn't know this key: it may be incomplete, revoked or expired.",
    ],
    ["webhook", ["missing_api_key", "no"], "A key is needed to look."],
    [
      "webhook",
      ["invalid_parameter", "url is x, expected an https URL", "url"],
      "This must be an https URL.",
    ],
  ] as const) {
    others.set(`/portal/account/${name}`, fails(kind, message, param));
    const form = forms()[name === "email" ? 0 : 1];
    assert.deepEqual(await save(form, `${said}`), [said]);
    const isOfField = param === (name === "email" ? "email" : "url");
    assert.equal(one(form, "input").getAttribute("aria-invalid"), isOfField ? "true" : null, message);
    await type(one(form, "input"), "changed");
    assert.deepEqual(
      texts(form, ".error").filter(Boolean),
      isOfField ? [] : [said],
      "a changed value isn't refused",
    );
  }
  others.set("/portal/account/email", () => ({}));
  others.set("/portal/account/webhook", () => ({ webhook: null }));
  assert.deepEqual(await save(forms()[0], " b@example.com "), ["Warnings go to b@example.com."]);
  assert.deepEqual(requests.findLast(({ path }) => path.endsWith("/email"))?.body, {
    email: "b@example.com",
  });
  assert.deepEqual(await save(forms()[1], " "), ["Nothing is posted."]);
  root = await open("account", "/account", { mail: false });
  assert.equal(forms().length, 1);
  assert.match(
    textOf(one(root, ".warnings").parentNode),
    /used, posted to your webhook; this server sends no e-mail/,
  );

  // A key without an end, a rotation without a number of hours, and what is closed again.
  root = await openAccount();
  others.set("/portal/keys/create", () => ({ id: 9, key: ownKey, expires: null }));
  await click(button(root, "new key"));
  const making = all(root, "form").find((form) => button(form, "Make the key"));
  await fire(making, "submit");
  assert.deepEqual(requests.findLast(({ path }) => path.endsWith("/create"))?.body, { expires: null });
  assert.match(textOf(root), /A key was made\./);
  root = await openAccount();
  const [row] = all(root, ".keys li");
  await click(button(row, "rotate"));
  await type(one(row, "input"), " ");
  others.set(
    "/portal/keys/rotate",
    fails("invalid_parameter", "overlap_hours is null, expected hours", "overlap_hours"),
  );
  await fire(one(row, "form"), "submit");
  assert.deepEqual(requests.findLast(({ path }) => path.endsWith("/rotate"))?.body, {
    id: 3,
    overlap_hours: null,
  });
  assert.match(textOf(one(row, "form")), /This must be hours\./);
  await click(button(row, "rotate"));
  assert.equal(all(row, "form").length, 0);
  await click(button(row, "revoke"));
  await click(button(row, "Keep it"));
  assert.equal(all(row, ".confirm").length, 0);
  others.clear();
  kept.removeItem("hcqs-key");
});

test("a new key takes another one's place in the browser only if the visitor wants it", async () => {
  const made = `hcq_${"m".repeat(49)}`;
  const root = await openAccount();
  others.set("/portal/keys/create", () => ({ id: 9, key: made, expires: null }));
  await click(button(root, "new key"));
  await fire(
    all(root, "form").find((form) => button(form, "Make the key")),
    "submit",
  );
  const box = one(root, 'input[type="checkbox"]');
  assert.match(
    textOf(box.parentNode),
    /Keep it in this browser, in place of …WXYZ \(not on a shared computer\)/,
  );
  for (const isKept of [true, false]) {
    box.checked = isKept;
    await fire(box, "change");
    assert.equal(kept.getItem("hcqs-key"), isKept ? made : ownKey);
    assert.equal(asksToStay(), false);
  }
  others.clear();
  kept.removeItem("hcqs-key");
});

test("the signup waits as long as the server wants, and says what it refuses and which links don't work", async (t) => {
  const sent: Any[] = [];
  let ms = 1000.5;
  t.mock.method(performance, "now", () => ms);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  others.set("/portal/signup", (body) => sent.push(body) && { sent: true });
  let root = await open("signup", "/signup", { mail: false, minElapsedMs: 5 });
  assert.match(textOf(root), /So that the operator can reach you\. This server sends no mail\./);
  const fill = async (name: string, text: string) => type(one(root, `input[name="${name}"]`), text);
  await fill("name", " Ann ");
  await fill("email", "ann@example.com");
  await fill("website", "http://spam.example");
  ms += 2;
  await fire(one(root, "form.fields"), "submit");
  t.mock.timers.tick(3);
  await drawn();
  assert.deepEqual([sent, textOf(one(root, 'p[role="status"]'))], [[], "One moment…"]);
  ms += 4.2;
  t.mock.timers.tick(1);
  await drawn();
  assert.deepEqual(sent, [
    { name: " Ann ", email: "ann@example.com", website: "http://spam.example", elapsedMs: 6 },
  ]);
  assert.match(textOf(root), /Check your e-mail/);
  assert.equal(page.activeElement, one(root, "h1"), "screen readers read the result");
  await click(button(root, "enter the address again"));
  assert.equal(one(root, 'input[name="email"]').value, "ann@example.com");
  others.set("/portal/signup", fails("invalid_parameter", "email is x, expected another one", "email"));
  await fire(one(root, "form.fields"), "submit");
  assert.match(textOf(one(root, "form.fields")), /This must be another one\./);
  others.set("/portal/signup", fails("forbidden", "signup is closed"));
  await fire(one(root, "form.fields"), "submit");
  assert.match(textOf(one(root, "form.fields")), /Signup is closed\./);
  for (const own of [null, ownKey]) {
    if (own !== null) kept.setItem("hcqs-key", own);
    others.set("/portal/signup/confirm", fails("service_unavailable", "try again"));
    root = await open("signup", "/signup?token=abc");
    await click(button(root, "Make my key"));
    assert.match(textOf(root), /Try again\./);
    others.set("/portal/signup/confirm", fails("invalid_parameter", "the token isn't valid", "token"));
    await click(button(root, "Make my key"));
    assert.match(textOf(one(root, "h1")), /This link isn't valid any more/);
    assert.match(textOf(root), /is older than 24 hours/);
    assert.equal(/I have the key that it made/.test(textOf(root)), own === null);
    assert.equal(/This browser has a key: your account/.test(textOf(root)), own !== null);
  }
  root = await open("signup", "/signup", { signup: "off" });
  assert.match(textOf(root), /This browser has a key: your account\./);
  assert.equal(all(root, "form").length, 0);
  kept.removeItem("hcqs-key");
  others.clear();
});
