import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "csv-parse/sync";
import { stayDeductibles } from "../../../datasets/deductibles.ts";
import { money } from "../../../server/shared/browser/format.ts";
import { assertApproved } from "../../support/approved.ts";
import {
  type Any,
  all,
  answer,
  button,
  click,
  drawn,
  fire,
  numberOf,
  one,
  open,
  others,
  textOf,
  texts,
  view,
} from "../../support/drawn-page.ts";
import {
  blobs,
  copies,
  type FakeElement,
  FakeEvent,
  painted,
  pictures,
  saved,
  savedBlobs,
} from "../../support/fake-dom.ts";

/** Tests what a card offers: its numbers as a table, files, links and citations. */

const cardOf = (root: FakeElement, begin: string) => {
  const card = all(root, "section.card").find((each) => textOf(one(each, "h2")).startsWith(begin));
  assert.ok(card, `no card ${begin}`);
  return card;
};

/** Presses a button of a card's menu, which opens first. */
async function press(card: FakeElement, menu: string, name: string): Promise<void> {
  if (button(card, name) === undefined) await click(button(card, menu));
  await click(button(card, name));
  // A drawing for a file is drawn twice.
  await new Promise((done) => setTimeout(done));
  await drawn();
}

async function csvOf(card: FakeElement): Promise<{ name: string; rows: Record<string, string>[] }> {
  await press(card, "Download", "CSV");
  const text = await savedBlobs.at(-1)?.text();
  return { name: saved.at(-1) ?? "", rows: parse(text ?? "", { columns: true }) };
}

async function pictureOf(card: FakeElement): Promise<string> {
  await press(card, "Download", "SVG");
  assert.equal(texts(card, ".said").join(""), "");
  assert.match(saved.at(-1) ?? "", /\.svg$/);
  return (await savedBlobs.at(-1)?.text()) ?? "";
}

const cents = (amount: number) => String(Math.round(100 * amount) / 100);
const share = (allowed: number, year: number) =>
  cents(Math.min(allowed / 5, stayDeductibles[year] ?? Infinity));
const top = answer("/healthcare/facilities?procedure=5112&limit=100&sort=charge").data;
const two = [top[30], top[2]];
const withTwo = `with=${two.map(({ ccn }) => ccn).join(",")}`;

test("the list's file has all hospitals in their order, with what a patient pays and the source", async () => {
  for (const query of ["procedure=5112&sort=charge", "procedure=5112&state=TX&sort=pays&order=desc"]) {
    const root = await open("explore", `/?${query}`);
    const { name, rows } = await csvOf(one(root, ".facilities"));
    const { data, source } = answer(`/healthcare/facilities?${query.replace("pays", "allowed")}&limit=100`);
    assert.equal(name, `opps-2024.1-5112${query.includes("TX") ? "-TX" : ""}.csv`);
    assert.deepEqual(
      rows.map(({ source: _, ...row }) => row),
      data.map((row: Any) => ({
        ...{
          data_year: String(source.data_year),
          data_version: "2024.1",
          ccn: row.ccn,
          facility: row.facility,
        },
        ...{
          city: row.city,
          state: row.state,
          code: "5112",
          procedure: answer("/healthcare/procedures/5112").procedure.name,
        },
        ...{ submitted_charge: cents(row.submitted_charge), medicare_allowed: cents(row.medicare_allowed) },
        ...{
          you_pay: share(row.medicare_allowed, source.data_year),
          zip: row.zip,
          services: String(row.services ?? ""),
        },
      })),
    );
    assert.match(
      rows[0].source,
      /^CMS, Charges of 2024 \(version 2024\.1\)\. This file has only a few hospitals\. http:.* has statements to check/,
    );
  }
});

test("each picture's table and file have the answer's figures", async () => {
  const root = await view("explore", `/?procedure=5112&${withTwo}`);
  const { histogram, data, procedure } = answer("/healthcare/procedures/5112");
  const spread = cardOf(root, "How charges are spread");
  const bars = (await csvOf(spread)).rows;
  assert.deepEqual(
    bars.map((row) => [row.charge_from, row.charge_to, row.facilities]),
    histogram.counts.map((count: number, i: number) => [
      cents(histogram.edges[i]),
      cents(histogram.edges[i + 1]),
      String(count),
    ]),
  );
  assert.ok(
    bars.every(
      (row) =>
        row.code === procedure.code && row.procedure === procedure.name && row.data_version === "2024.1",
    ),
  );
  // Each compared hospital is in exactly the bar of its charge.
  for (const [i, hospital] of two.entries()) {
    const name = `${"AB"[i]}: ${hospital.facility} (${hospital.ccn})`;
    const its = bars.filter(({ compared }) => compared.includes(name));
    assert.equal(its.length, 1);
    assert.ok(
      Number(its[0].charge_from) <= hospital.submitted_charge &&
        hospital.submitted_charge <= Number(its[0].charge_to),
    );
  }
  await click(button(spread, "Table"));
  assert.deepEqual(
    all(spread, "tbody tr").map((row) => texts(row, "td").slice(0, 3)),
    histogram.counts.map((count: number, i: number) => [
      money(histogram.edges[i]),
      money(histogram.edges[i + 1]),
      String(count),
    ]),
  );
  assert.equal(all(spread, ".bar").length, 0);
  await click(button(spread, "Table"));
  assert.ok(all(spread, ".bar").length > 0);

  const states = (await csvOf(cardOf(root, "Where hospitals charge more"))).rows;
  const priced = data.toSorted((a: Any, b: Any) => b.median_charge - a.median_charge);
  const { missing_states } = answer("/datasets").data[0].coverage;
  assert.deepEqual(
    states.map(({ state }) => state),
    [...priced, ...missing_states].map(({ state }) => state),
  );
  for (const [i, row] of priced.entries())
    assert.deepEqual(
      [
        states[i].facilities,
        states[i].median_charge,
        states[i].min_charge,
        states[i].max_charge,
        states[i].median_allowed,
        states[i].reason,
      ],
      [
        String(row.facilities),
        ...[row.median_charge, row.min_charge, row.max_charge, row.median_allowed].map(cents),
        "",
      ],
    );
  for (const row of states.slice(priced.length)) {
    assert.deepEqual([row.facilities, row.median_charge, row.max_charge], ["0", "", ""]);
    assert.notEqual(row.reason, "");
  }

  const trend = answer("/healthcare/trends?procedure=5112").data;
  const years = (await csvOf(cardOf(root, "Over the years"))).rows;
  const own = two.map(({ ccn }) => answer(`/healthcare/facilities/${ccn}/trends?procedure=5112`).data);
  assert.deepEqual(
    years.map((row) => [
      row.data_year,
      row.data_version,
      row.facilities,
      row.p25_charge,
      row.median_charge,
      row.p75_charge,
      row.median_allowed,
      row.matched_median_charge,
    ]),
    trend.map((row: Any) => [
      ...[row.data_year, row.data_version, row.facilities].map(String),
      ...[row.p25_charge, row.median_charge, row.p75_charge, row.median_allowed].map(cents),
      String(row.matched?.median_charge ?? ""),
    ]),
  );
  for (const [i, { ccn }] of two.entries())
    for (const row of years) {
      const found = own[i].find((one: Any) => String(one.data_year) === row.data_year);
      assert.equal(
        row[`submitted_charge_${ccn}`],
        found?.submitted_charge == null ? "" : cents(found.submitted_charge),
      );
      assert.equal(
        row[`medicare_allowed_${ccn}`],
        found?.medicare_allowed == null ? "" : cents(found.medicare_allowed),
      );
    }

  const compared = (await csvOf(one(root, ".compared"))).rows;
  assert.deepEqual(
    compared.map((row) => [
      row.ccn,
      row.data_year,
      row.submitted_charge,
      row.medicare_allowed,
      row.you_pay,
      row.median_charge,
      row.median_allowed,
      row.median_of,
    ]),
    two.flatMap(({ ccn }, i) =>
      own[i].map((row: Any) => {
        const year = trend.find((one: Any) => one.data_year === row.data_year);
        return [
          ccn,
          String(row.data_year),
          row.submitted_charge === null ? "" : cents(row.submitted_charge),
          row.medicare_allowed === null ? "" : cents(row.medicare_allowed),
          row.medicare_allowed === null ? "" : share(row.medicare_allowed, row.data_year),
          cents(year.median_charge),
          cents(year.median_allowed),
          "the nation",
        ];
      }),
    ),
  );
});

test("a table shows a dash where the data has no amount, and the source that the numbers are from", async () => {
  const root = await view("explore", `/?procedure=5112&${withTwo}`);
  const card = cardOf(root, "Over the years");
  await click(button(card, "Table"));
  const trend = answer("/healthcare/trends?procedure=5112").data;
  const rows = all(card, "tbody tr").map((row) => texts(row, "td"));
  assert.equal(rows.length, trend.length);
  for (const [i, row] of rows.entries()) {
    assert.ok(
      row.every((cell) => cell !== "" && !/NaN|undefined|null/.test(cell)),
      row.join(),
    );
    const { data_year, matched } = trend[i];
    assert.equal(row[0], String(data_year));
    assert.equal(row[6] === "–", matched == null, row.join());
  }
  const source = textOf(one(card, ".source"));
  for (const text of [
    `A: ${two[0].facility}.`,
    `B: ${two[1].facility}.`,
    "Source: CMS, Charges of ",
    "versions ",
  ])
    assert.ok(source.includes(text), source);
  for (const { data_version } of trend) assert.ok(source.includes(data_version), source);
  await click(button(card, "Table"));
});

test("a saved picture says what it shows: its title, its hospitals and the source", async () => {
  const root = await view("explore", `/?procedure=5112&${withTwo}`);
  const list = await pictureOf(one(root, ".facilities"));
  const { length } = answer("/healthcare/facilities?procedure=5112&limit=100").data;
  for (const row of [...two, top[0], top[7]])
    for (const text of [row.facility.split(" ")[0], money(row.submitted_charge), money(row.medicare_allowed)])
      assert.ok(list.includes(text), `${text} in ${list}`);
  assert.ok(list.includes(`The first 10 of ${length} hospitals.`), list);
  assert.ok(!list.includes(money(top[9].submitted_charge)));
  const choices = all(one(root, ".facilities"), "option").map((option) => option.value);
  assert.deepEqual(choices, ["", ...["5", "10", "25"].filter((rows) => Number(rows) < length)]);
  const select = one(one(root, ".facilities"), "select");
  select.value = "5";
  await fire(select, "change");
  const five = await pictureOf(one(root, ".facilities"));
  assert.ok(five.includes(`The first 5 of ${length} hospitals.`), five);
  assert.ok(five.includes(money(top[1].submitted_charge)) && !five.includes(money(top[4].submitted_charge)));
  // Each row's texts are between its line and the next one's, and no text is beyond the picture's edges.
  const groups = all(pictures.at(-1) ?? root, "g").filter(
    (group) => (group.firstChild as FakeElement | null)?.localName === "line",
  );
  const lines = groups.map((group) => numberOf(group.firstChild as FakeElement, "y1"));
  assert.ok(groups.length >= 5);
  for (const [i, group] of groups.entries())
    for (const text of all(group, "text")) {
      const [x, y] = [numberOf(text, "x"), numberOf(text, "y")];
      assert.ok(y > lines[i] && y < (lines[i + 1] ?? Infinity), textOf(text));
      const width = 6 * textOf(text).length;
      assert.ok(
        text.getAttribute("text-anchor") === "end" ? x <= 940 && x - width >= 0 : x >= 0 && x + width <= 940,
        textOf(text),
      );
    }
  // A column's texts end where its head ends, and the next column begins behind it.
  const drawing = all(pictures.at(-1) ?? root, "svg")[0];
  const heads = (drawing.childNodes as FakeElement[]).filter(
    (group) => group.localName === "g" && !groups.includes(group),
  );
  const columns = heads.map((head) => numberOf(one(head, "text"), "x"));
  assert.equal(columns.length, 5);
  for (const head of heads)
    for (const text of all(head, "text")) {
      assert.ok(numberOf(text, "y") < lines[0], textOf(text));
      assert.equal(text.getAttribute("text-anchor"), "end");
    }
  for (const group of groups) {
    const cells = (group.childNodes as FakeElement[]).filter((node) => node.localName === "text");
    assert.deepEqual(
      cells.map((cell) => [cell.getAttribute("text-anchor"), numberOf(cell, "x")]),
      columns.map((x) => ["end", x]),
    );
    const names = all(one(group, "g"), "text");
    const left = (cell: FakeElement) => numberOf(cell, "x") - 6 * textOf(cell).length;
    for (const name of names) {
      assert.equal(name.getAttribute("text-anchor"), "start");
      assert.ok(numberOf(name, "x") + 6 * textOf(name).length <= left(cells[0]), textOf(name));
    }
    for (const [i, cell] of cells.entries()) if (i > 0) assert.ok(left(cell) > columns[i - 1], textOf(cell));
    const dots = (group.childNodes as FakeElement[]).find((node) => node.localName === "svg") ?? group;
    const apart = numberOf(dots, "x") - columns[columns.length - 1];
    assert.ok(apart > 0 && apart < 40, `the dots begin ${apart} pixels after the amounts`);
    assert.equal(numberOf(dots, "x") + numberOf(dots, "width"), 940);
  }
  const compared = await pictureOf(one(root, ".compared"));
  for (const text of [
    "Side by side: ",
    ...two.map((row) => money(row.submitted_charge)),
    "Nation's median",
    "Source: CMS",
    "has statements to check each number",
  ])
    assert.ok(compared.includes(text), `${text} in ${compared}`);
  const spread = await pictureOf(cardOf(root, "How charges"));
  const { summary } = answer("/healthcare/procedures/5112");
  for (const text of [
    money(summary.min_charge),
    money(summary.median_charge),
    "How charges are spread: ",
    "version 2024.1",
  ])
    assert.ok(spread.includes(text), `${text} in ${spread}`);
  assert.ok(!spread.includes("Synthetic"));
  const years = await pictureOf(cardOf(root, "Over the years"));
  const newest = answer("/healthcare/trends?procedure=5112").data.at(-1);
  const { title } = answer("/healthcare/procedures/5112").procedure;
  assert.ok(
    years.includes(
      `In ${newest.data_year} the median charge in the nation for ${title} is ${money(newest.median_charge)}. Medicare allows ${money(newest.median_allowed)}.`,
    ),
    years,
  );
  const sample = await open("explore", "/?procedure=5072&year=2020");
  assert.match(await pictureOf(one(sample, ".facilities")), /^Synthetic sample: nothing here is real\./);
});

test("links and citations name the procedure and the data versions that are shown", async () => {
  const root = await open("explore", `/?procedure=5112&state=TX&${withTwo}`);
  for (const [card, embed, anchor] of [
    [cardOf(root, "How charges"), "charges", ""],
    [cardOf(root, "Where hospitals"), "states", ""],
    [cardOf(root, "Over the years"), "years", ""],
    [one(root, ".facilities"), "hospitals", "#hospitals"],
    [one(root, ".compared"), null, "#compared"],
  ] as const) {
    await press(card, "Share", "Copy link");
    const link = new URL(copies.at(-1) ?? "");
    assert.deepEqual(
      ["procedure", "state", "year", "with", "versions"].map((name) => link.searchParams.get(name)),
      [
        "5112",
        "TX",
        "2024.1",
        two.map(({ ccn }) => ccn).join(","),
        answer("/healthcare/trends?procedure=5112&state=TX").source.data_versions.join(","),
      ],
    );
    assert.equal(link.hash, anchor);
    assert.ok(button(card, "copied"));
    await press(card, "Share", "Copy citation");
    const citation = copies.at(-1) ?? "";
    assert.ok(citation.startsWith(`What hospitals charge: ${textOf(one(card, "h2"))}`), citation);
    assert.ok(
      citation.includes("version") &&
        citation.includes("Source: CMS, Charges of 20") &&
        citation.endsWith(link.href),
      citation,
    );
    assert.equal(button(card, "Embed") === undefined, embed === null);
    if (embed !== null) {
      await press(card, "Share", "Embed");
      assert.ok(copies.at(-1)?.includes(`src="http://prices.test/embed/${embed}?`), copies.at(-1));
    }
  }
  await press(one(root, ".facilities"), "Share", "Copy sentence with source");
  const { data, summary } = answer("/healthcare/facilities?procedure=5112&state=TX&sort=charge");
  const said = copies.at(-1) ?? "";
  const five = data.slice(0, 5);
  for (const row of five)
    assert.ok(
      said.includes(`${row.facility}, ${row.city}, TX (charge ${money(row.submitted_charge)})`),
      said,
    );
  assert.ok(
    said.startsWith(
      data.length > 5
        ? `In 2024, the five cheapest of ${summary.facilities} hospitals in Texas for `
        : "In 2024, all ",
    ),
    said,
  );
  for (const compared of [two.slice(0, 1), two]) {
    const its = await open("explore", `/?procedure=5112&with=${compared.map(({ ccn }) => ccn).join(",")}`);
    await press(one(its, ".compared"), "Share", "Copy sentence with source");
    const copy = copies.at(-1) ?? "";
    for (const row of compared)
      assert.ok(copy.includes(`${row.facility} charges ${money(row.submitted_charge)}: `), copy);
    assert.equal(
      textOf(one(its, ".compared h2")),
      compared.length === 1 ? "The chosen hospital" : "Side by side",
    );
  }
  const closed = await open("explore", "/?procedure=5112", { embeds: false });
  const card = cardOf(closed, "How charges");
  await click(button(card, "Share"));
  assert.equal(button(card, "Embed"), undefined);
});

test("a hospital's file has the ranks and medians of its procedures", async () => {
  const { ccn } = top[0];
  const { facility, data } = answer(`/healthcare/facilities/${ccn}`);
  const root = await open("facility", `/facilities/${ccn}`);
  const { name, rows } = await csvOf(one(root, ".standing"));
  assert.equal(name, `opps-2024.1-hospital-${ccn}.csv`);
  assert.equal(rows.length, data.length);
  for (const row of rows) {
    const of = data.find(({ code }: Any) => code === row.code);
    assert.deepEqual(
      [
        row.ccn,
        row.state,
        row.procedure,
        row.submitted_charge,
        row.medicare_allowed,
        row.you_pay,
        row.services,
      ],
      [
        ccn,
        facility.state,
        of.name,
        cents(of.submitted_charge),
        cents(of.medicare_allowed),
        share(of.medicare_allowed, 2024),
        String(of.services ?? ""),
      ],
    );
    for (const [prefix, standing] of [
      ["national", of.national],
      ["within_state", of.within_state],
    ])
      assert.deepEqual(
        ["rank", "facilities", "percentile", "median_charge"].map((key) => row[`${prefix}_${key}`]),
        [standing.rank, standing.facilities, standing.percentile, standing.median_charge].map((value) =>
          cents(value),
        ),
      );
  }
  const picture = await pictureOf(one(root, ".standing"));
  for (const text of [
    facility.facility.split(" ")[0],
    `vs. ${facility.state}`,
    data.length > 10 ? `The first 10 of ${data.length} procedures.` : "procedures",
  ])
    assert.ok(picture.includes(text), `${text} in ${picture}`);
  await press(one(root, ".standing"), "Share", "Copy link");
  assert.equal(new URL(copies.at(-1) ?? "").searchParams.get("year"), "2024.1");
});

test("a saved map has the states' outlines in it, and a PNG twice as many pixels as the picture", async () => {
  const root = await open("explore", "/?procedure=5092&year=2021");
  const map = cardOf(root, "Where hospitals charge more");
  others.set(
    "/states.svg",
    () => new Response('<svg><path id="TX" d="M1 2l3 4z"/><path id="CA" d="M5 6l7 8z"/></svg>'),
  );
  await press(map, "Download", "SVG");
  const drawing = pictures.at(-1) ?? assert.fail();
  assert.equal(
    all(drawing, "use").filter((use) => /#(TX|CA)$/.test(use.getAttribute("href") ?? "")).length,
    0,
  );
  const paths = all(drawing, 'path[d="M1 2l3 4z"]');
  assert.ok(paths.length > 0 && paths.every((path) => !path.hasAttribute("id") && path.hasAttribute("fill")));
  await press(map, "Download", "PNG");
  const [image, ...place] = painted.at(-1) ?? assert.fail();
  const picture = pictures.at(-1) ?? assert.fail();
  const [width, height] = ["width", "height"].map((name) => 2 * numberOf(picture, name));
  assert.deepEqual([image.width, image.height, ...place], [width, height, 0, 0, width, height]);
  assert.ok(image.src.startsWith("data:image/svg+xml;charset=utf-8,"));
  assert.deepEqual(
    [await savedBlobs.at(-1)?.text(), savedBlobs.at(-1)?.type],
    [`${width} × ${height}`, "image/png"],
  );
  for (const [fault, value, said] of [
    ["refused", "image/png", "PNG wasn't saved: this browser can't make one; try SVG"],
    ["undecoded", "data:", "PNG wasn't saved: this browser can't draw it; try SVG"],
  ] as const) {
    blobs[fault] = value;
    await press(map, "Download", "PNG");
    assert.equal(textOf(one(map, ".said")), said);
    blobs[fault] = "nothing";
  }
  others.set("/states.svg", () => new Response("", { status: 503, statusText: "busy" }));
  await press(map, "Download", "SVG");
  assert.equal(textOf(one(map, ".said")), "SVG wasn't saved: busy");
  assert.equal(all(root, ".for-saving").length, 0, "nothing is left behind");
  others.clear();
});

test("a text for a picture is broken between words, and within a word that is longer than a line", async () => {
  const { linesOf } = await import(
    String(new URL("../../../server/parts/portal/browser/save-picture.ts", import.meta.url))
  );
  // Of 100 pixels, a line has 94, and a letter of the tests' browser 6: 15 letters.
  for (const [text, lines] of [
    ["", [""]],
    ["one two three four", ["one two three", "four"]],
    ["123456789012345 x", ["123456789012345", "x"]],
    ["a 1234567890123 b", ["a 1234567890123", "b"]],
    ["a 12345678901234567890", ["a 1234567890123", "4567890"]],
    ["12345678901234567890", ["123456789012345", "67890"]],
  ] as const)
    assert.deepEqual(linesOf(text, 100, 12), lines, text);
});

test("what can't be copied is shown, to be selected, and two files aren't made at once", async () => {
  const root = await open("explore", "/?procedure=5092&year=2021");
  const card = cardOf(root, "How charges");
  const { clipboard } = navigator;
  for (const broken of [undefined, { writeText: () => Promise.reject(new Error("not allowed")) }]) {
    Object.assign(navigator, { clipboard: broken });
    await press(card, "Share", "Copy link");
    assert.match(textOf(one(card, ".said")), /^http:\/\/prices\.test\/\?/);
    assert.equal(button(card, "copied"), undefined);
  }
  const command = one(root, ".command");
  await click(button(command, "copy"));
  assert.equal(textOf(one(command, '[role="status"]')), "select it and copy");
  Object.assign(navigator, { clipboard });
  await click(button(command, "copy"));
  assert.equal(textOf(one(command, '[role="status"]')), "copied");
  await press(card, "Share", "Copy link");
  assert.equal(textOf(one(card, ".said")), "", "what was said of another action is gone");
  await click(button(card, "Download"));
  const { length } = savedBlobs;
  const [svg, csv] = [button(card, "SVG"), button(card, "CSV")];
  svg?.dispatchEvent(new FakeEvent("click"));
  await null;
  await click(csv);
  assert.deepEqual([savedBlobs.length, saved.at(-1)?.slice(-4)], [length + 1, ".svg"]);
});

test("a sentence for citing names the first hospitals with the amount that sorts them", async () => {
  const said: string[] = [];
  for (const query of [
    ...["pays", "allowed", "markup", "name", "charge&order=desc"].map(
      (sort) => `procedure=5092&year=2021&sort=${sort}`,
    ),
    ...["procedure=5094&year=2021", "procedure=5194&near=77002&within=400"],
    "procedure=5194&state=TX&sort=services&order=desc",
  ]) {
    const root = await open("explore", `/?${query}`);
    const card = one(root, ".facilities");
    await press(card, "Share", "Copy sentence with source");
    const [sentence] = (copies.at(-1) ?? "").split(" Source: ");
    said.push(`${query}\n${textOf(one(card, "h2"))}\n${sentence}\n\n`);
  }
  assertApproved("pages/cited.txt", said.join(""));
});
