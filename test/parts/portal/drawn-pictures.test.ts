import assert from "node:assert/strict";
import { test } from "node:test";
import {
  change,
  counted,
  money,
  percent,
  printable,
  times,
  whole,
} from "../../../server/shared/browser/format.ts";
import {
  type Any,
  addressOf,
  all,
  answer,
  click,
  fire,
  numberOf,
  one,
  open,
  textOf,
  texts,
  view,
} from "../../support/drawn-page.ts";
import { type FakeElement, page, place } from "../../support/fake-dom.ts";
import { seededRandom } from "../../support/random.ts";

/** Tests that pictures show the API's numbers: at their places on a scale, in notes, and in texts. */

const amountOf = (text: string) => Number(text.replaceAll(/[$,]/g, ""));

/** Asserts that each place is where a scale has its value, and returns the scale. */
function scaleOf(pairs: readonly [value: number, place: number][], of = (value: number) => value) {
  const sorted = pairs.toSorted(([a], [b]) => a - b);
  const [[low, from], [high, to]] = [sorted[0], sorted[sorted.length - 1]];
  assert.ok(high > low && from !== to, JSON.stringify(sorted));
  const at = (value: number) => from + ((of(value) - of(low)) / (of(high) - of(low))) * (to - from);
  for (const [value, place] of pairs)
    assert.ok(Math.abs(place - at(value)) < 0.01 + Math.abs(to - from) / 10_000, `${value} is at ${place}`);
  return at;
}

const isNear = (a: number, b: number, what: string) =>
  assert.ok(Math.abs(a - b) < 0.02, `${what}: ${a}, ${b}`);
const noteIn = (picture: FakeElement) => texts(one(picture, ".note"), "div");
const translatedX = (element: FakeElement) => numberOf(element.parentNode ?? element, "x");
const shapes = (root: FakeElement, kind: string) => all(root, `.dot.${kind}`);

/** The dollar amounts below an axis, each at its place, for the widest drawing. */
function ticksOf(picture: FakeElement): [number, number][] {
  const ticks = all(picture, ".from-400 .tick text");
  assert.ok(ticks.length >= 2, "an axis has two texts or more");
  for (const tick of ticks)
    assert.match(
      textOf(tick),
      /^\$([1-9]\d?0*|[1-9](,\d?00|\d?,000)(,000)*|[1-9]00,000)$/,
      "amounts are round",
    );
  for (const width of [120, 220, 265, 400]) {
    let end = 0;
    for (const text of all(picture, `.from-${width} .tick text`)) {
      const length = 7 * textOf(text).length;
      const anchor = text.getAttribute("text-anchor") ?? "";
      const before = { start: 0, middle: length / 2, end: length }[anchor] ?? Number.NaN;
      const begin = (numberOf(text, "x") * width) / 100 - before;
      assert.ok(begin >= end && begin + length <= width, `${textOf(text)} at ${begin} of ${width}`);
      end = begin + length;
    }
  }
  return ticks.map((text) => [amountOf(textOf(text)), numberOf(text, "x")]);
}

async function assertBars(address: string): Promise<void> {
  const root = await view("explore", address);
  const card = one(root, ".spread");
  const [, procedure] = /procedure=(\d+)/.exec(address) ?? [];
  const version = address.includes("year") ? "/versions/2023" : "";
  const { histogram, summary, allowed } = answer(`${version}/healthcare/procedures/${procedure}`);
  const bars = all(card, ".bar .amount");
  assert.equal(bars.length, histogram.counts.length);
  assert.equal(
    histogram.counts.reduce((a: number, b: number) => a + b),
    summary.facilities,
  );
  const heights = bars.map((bar) => numberOf(bar, "height"));
  const most = Math.max(...histogram.counts);
  for (const [i, count] of histogram.counts.entries())
    isNear(heights[i], (Math.max(...heights) * count) / most, `bar ${i}`);
  // All bars stand on the axis, side by side.
  const floor = numberOf(one(card, "line.axis"), "y1");
  for (const bar of bars) isNear(numberOf(bar, "y") + numberOf(bar, "height"), floor, "the bar's foot");
  const edges = histogram.edges.map((edge: number, i: number): [number, number] => [
    edge,
    i < bars.length ? numberOf(bars[i], "x") : numberOf(bars[i - 1], "x") + numberOf(bars[i - 1], "width"),
  ]);
  const at = scaleOf([...edges, ...ticksOf(card)], Math.log);
  for (const amount of [allowed.min, summary.max_charge])
    assert.ok(at(amount) > 0 && at(amount) < 100, `${amount} at ${at(amount)}`);
  // The lowest and the highest amount have the same margin.
  isNear(at(Math.min(allowed.min, summary.min_charge)), 100 - at(summary.max_charge), "the margins");
  assert.ok(at(Math.min(allowed.min, summary.min_charge)) < 15, "the margin is small");
  isNear(numberOf(one(card, "line.median"), "x1"), at(summary.median_charge), "median");
  const half = one(card, "rect.half");
  isNear(numberOf(half, "x"), at(summary.p25_charge), "a quarter");
  isNear(numberOf(half, "x") + numberOf(half, "width"), at(summary.p75_charge), "three quarters");
  assert.match(
    textOf(one(card, ".label")),
    new RegExp(`median ${money(summary.median_charge).replace("$", "\\$")}`),
  );
  const [own] = shapes(one(card, ".strip.allowed"), "allowed");
  isNear(translatedX(own), at(allowed.median), "what Medicare allows");
  assert.match(textOf(one(card, ".strip.allowed")), /at the median,/);
  for (const track of all(card, ".picture g")) {
    const [line] = track.childNodes as FakeElement[];
    if (line?.getAttribute?.("class") !== "track" || track.childNodes.length !== 2) continue;
    const count = Number(textOf(track));
    isNear(floor - numberOf(line, "y1"), (Math.max(...heights) * count) / most, `grid ${count}`);
  }
  const median = one(card, ".label");
  isNear(numberOf(median, "x"), at(summary.median_charge), "the median's text");
  const isLeft = at(summary.median_charge) > 50;
  assert.deepEqual(
    [Math.sign(numberOf(median, "dx")), median.getAttribute("text-anchor")],
    isLeft ? [-1, "end"] : [1, "start"],
  );
  for (const i of [0, bars.length - 1]) {
    await fire(all(card, ".bar")[i], "pointerenter");
    const middle = numberOf(bars[i], "x") + numberOf(bars[i], "width") / 2;
    const [, noteAt] = /, ([\d.]+)%/.exec(String(one(card, ".note").style.left)) ?? [];
    isNear(Number(noteAt), middle, "the note's place");
    const count = histogram.counts[i];
    assert.deepEqual(noteIn(card), [
      count === 1 ? "1 hospital" : `${count} hospitals`,
      `${money(histogram.edges[i])} to ${money(histogram.edges[i + 1])}`,
      `${percent((100 * count) / summary.facilities)} of ${whole(summary.facilities)}`,
    ]);
    assert.deepEqual(
      all(card, ".bar").flatMap((bar, j) => (bar.getAttribute("class")?.includes("active") ? [j] : [])),
      [i],
    );
  }
  const label = one(card, ".picture svg").getAttribute("aria-label") ?? "";
  for (const amount of [
    summary.min_charge,
    summary.max_charge,
    summary.p25_charge,
    summary.p75_charge,
    allowed.max,
  ])
    assert.ok(label.includes(money(amount)), `${amount} in ${label}`);
}

async function assertDots(procedure: string, state: string): Promise<void> {
  const root = await view("explore", `/?procedure=${procedure}&state=${state}`);
  const card = one(root, ".spread");
  const { data } = answer(
    `/healthcare/facilities?procedure=${procedure}&state=${state}&limit=50&sort=charge`,
  );
  const { summary, allowed } = answer(`/healthcare/procedures/${procedure}?state=${state}`);
  const dots = all(card, "circle.facility-dot");
  assert.equal(dots.length, data.length);
  const at = scaleOf(
    [
      ...dots.map((dot, i): [number, number] => [data[i].submitted_charge, numberOf(dot, "cx")]),
      ...ticksOf(card),
    ],
    Math.log,
  );
  const middles = dots.map((dot) => [numberOf(dot, "cx") * 2.4, numberOf(dot, "cy"), numberOf(dot, "r")]);
  for (const [i, [x, y, r]] of middles.entries())
    for (const [x2, y2] of middles.slice(0, i)) assert.ok(Math.hypot(x - x2, y - y2) >= 2 * r, `dot ${i}`);
  const floor = numberOf(one(card, "line.axis"), "y1");
  for (const [, y, r] of middles) assert.ok(y + r <= floor, "a dot is above the axis");
  if (summary.facilities < 8) {
    // Without a middle half, all amounts are written and marked.
    assert.equal(all(card, "rect.half").length + all(card, "line.median").length, 0);
    const marks = shapes(one(card, ".strip.allowed"), "allowed").map(translatedX);
    assert.deepEqual(
      marks.map((x) => x.toFixed(2)),
      data.map((row: Any) => at(row.medicare_allowed).toFixed(2)),
    );
    const charged = textOf(all(one(card, ".strip.charge"), ".from-120")[0]);
    assert.ok(charged.endsWith(`${money(summary.min_charge)} to ${money(summary.max_charge)}`), charged);
    assert.doesNotMatch(textOf(one(card, "header")), /middle half/);
  } else assert.match(textOf(one(card, "header")), /Shaded: the middle half/);
  const widest = textOf(all(one(card, ".strip.allowed"), ".from-400")[0]);
  if (summary.facilities >= 8) assert.ok(widest.endsWith(money(allowed.median)), widest);
  await fire(dots.at(-1), "pointerenter");
  assert.deepEqual(
    dots.flatMap((dot, i) => (dot.getAttribute("class")?.includes("active") ? [i] : [])),
    [dots.length - 1],
  );
  const last = data.at(-1);
  assert.deepEqual(noteIn(card), [
    money(last.submitted_charge),
    last.facility,
    `${last.city}, ${last.state}`,
  ]);
  await click(dots.at(-1));
  assert.match(addressOf(), new RegExp(`with=${last.ccn}(&|$)`));
  const mark = all(root, ".spread .mark");
  assert.equal(mark.length, 1);
  assert.ok(textOf(mark[0]).includes(`A ${money(last.submitted_charge)}`));
  const pins = all(mark[0], ".pin-shape").map(translatedX);
  const scale = scaleOf(ticksOf(one(root, ".spread")), Math.log);
  isNear(pins[1], scale(last.submitted_charge), "the mark of the charge");
  isNear(pins[2], scale(last.medicare_allowed), "the mark of the allowed amount");
}

test("compared hospitals are marked at their amounts, with letters in rows of their own", async () => {
  const { data } = answer("/healthcare/facilities?procedure=5072&limit=50&sort=charge");
  const chosen = [data[40], data[3], data[4]];
  const root = await open("explore", `/?procedure=5072&with=${chosen.map(({ ccn }) => ccn).join(",")}`);
  const card = one(root, ".spread");
  const at = scaleOf(ticksOf(card), Math.log);
  const marks = all(card, ".mark");
  const byCharge = chosen.toSorted((a, b) => a.submitted_charge - b.submitted_charge);
  assert.deepEqual(
    marks.map((mark) => textOf(mark)),
    byCharge.map((row) => `${"ABC"[chosen.indexOf(row)]} ${money(row.submitted_charge)}`),
  );
  for (const [i, mark] of marks.entries()) {
    const x = at(byCharge[i].submitted_charge);
    isNear(numberOf(one(mark, ".mark-line"), "x1"), x, "line");
    const [top, onAxis, below] = all(mark, ".pin-shape").map(translatedX);
    isNear(top, x, "letter");
    isNear(onAxis, x, "charge");
    isNear(below, at(byCharge[i].medicare_allowed), "allowed");
    const text = all(mark, "text")[0];
    assert.equal(text.getAttribute("text-anchor"), x > 50 ? "end" : "start", "the text stays in the picture");
  }
  const rows = marks.map((mark) => numberOf(all(mark, "text")[0], "y"));
  assert.equal(new Set(rows).size, 3);
  // Shapes of nearly the same amount stand above each other.
  const places = marks.map((mark) => all(mark, ".pin-shape")[1].parentNode ?? mark);
  for (const [i, place] of places.entries())
    for (const other of places.slice(0, i))
      assert.ok(
        Math.abs(numberOf(place, "x") - numberOf(other, "x")) * 2.4 >= 11 ||
          Math.abs(numberOf(place, "y") - numberOf(other, "y")) >= 11,
        "no shape covers another",
      );
  const own = one(root, ".chips");
  assert.deepEqual(
    texts(own, "a"),
    chosen.map((row, i) => `Remove: ${"ABC"[i]} ${row.facility}×`),
  );
});

async function assertMap(address: string): Promise<void> {
  const [, procedure] = /procedure=(\d+)/.exec(address) ?? [];
  const root = await view("explore", address);
  const map = one(root, ".map");
  const version = address.includes("year") ? "/versions/2023" : "";
  const { data } = answer(`${version}/healthcare/procedures/${procedure}`);
  const legend = one(map, ".legend");
  const colours = all(legend, "rect").filter((rect) => rect.getAttribute("fill")?.startsWith("var"));
  const fills = colours.map((rect) => rect.getAttribute("fill"));
  const edges = texts(all(legend, ".from-400")[0], "text").map(amountOf);
  const shown = data.filter((row: Any) => row.facilities >= 8);
  assert.equal(fills.length <= 6 && fills.length > 0, shown.length > 0);
  assert.equal(new Set(fills).size, fills.length, "each level has a colour of its own");
  if (fills.length > 1) {
    assert.equal(fills[0], "var(--map-0)");
    assert.equal(fills.at(-1), "var(--map-5)");
  }
  for (const row of data) {
    const state = one(map, `[data-state="${row.state}"]`);
    const isFew = row.facilities < 8;
    assert.equal(state.getAttribute("class"), isFew ? "state no-price" : "state", row.state);
    const hatched = state.nextSibling as FakeElement | null;
    assert.equal(hatched?.getAttribute("class") === "sparse", isFew, `${row.state} is hatched`);
    if (isFew) {
      assert.equal(state.getAttribute("fill"), null);
      continue;
    }
    const level = fills.indexOf(state.getAttribute("fill"));
    assert.ok(level >= 0, row.state);
    if (edges.length !== fills.length + 1) continue;
    const isIn = row.median_charge >= edges[level] && row.median_charge <= edges[level + 1];
    assert.ok(isIn || edges[0] === edges.at(-1), `${row.state}: ${row.median_charge} in ${edges}`);
    assert.ok(level === 0 || level === fills.length - 1 || row.median_charge < edges[level + 1]);
  }
  // Levels are side by side, and the texts stand at their edges.
  for (const [i, rect] of colours.entries())
    isNear(numberOf(rect, "x"), i * numberOf(rect, "width"), "level");
  const swatches = texts(legend, "text").filter((text) => !text.startsWith("$"));
  // Each swatch has its text beside it.
  const grounds = all(legend, "rect.ground");
  const beside = all(legend, "text").filter((text) => !textOf(text).startsWith("$"));
  for (const [i, text] of beside.entries()) {
    const down = numberOf(text, "y") - numberOf(grounds[i], "y");
    assert.ok(down > 0 && down <= numberOf(grounds[i], "height"), textOf(text));
    const across = numberOf(text, "x") - numberOf(grounds[i], "width");
    assert.ok(across > 0 && across < 10, textOf(text));
  }
  const states = new Set(data.map((row: Any) => row.state));
  assert.equal(
    swatches.includes("fewer than 8 hospitals"),
    data.some((row: Any) => row.facilities < 8),
  );
  assert.ok(swatches.includes("Maryland, no price"));
  const priced = data.toSorted((a: Any, b: Any) => b.facilities - a.facilities);
  for (const row of [priced[0], priced.at(-1)]) {
    await fire(one(map, `[data-state="${row.state}"]`), "pointerenter");
    const [first, second, third] = noteIn(map);
    assert.ok(first.endsWith(`: ${money(row.median_charge)}`), first);
    assert.equal(
      second,
      row.facilities === 1
        ? "a single hospital"
        : `${row.facilities < 8 ? "only " : ""}${row.facilities} hospitals, ${money(row.min_charge)} to ${money(row.max_charge)}`,
    );
    assert.equal(third, `Medicare allows ${money(row.median_allowed)}`);
  }
  // The note is above the middle of the state's outline.
  const { left, top } = one(map, ".note").style;
  assert.ok(String(left).includes(`, ${(100 * 195) / 975}%,`), String(left));
  assert.ok(String(top).includes(`max(${(100 * 122) / 610}% - `), String(top));
  for (const width of [120, 220, 265, 400]) {
    const drawn = Math.min(width, numberOf(legend, "width"));
    const labels = all(one(legend, `.from-${width}`), "text");
    if (fills.length > 0) assert.ok(labels.length >= 2, "the ends are always written");
    for (const [i, label] of labels.entries()) {
      const from = (numberOf(label, "x") * drawn) / 100;
      const next = i + 1 < labels.length ? (numberOf(labels[i + 1], "x") * drawn) / 100 : Infinity;
      assert.ok(
        from + 7 * textOf(label).length <= next,
        `${textOf(label)} overlaps the next at ${width} pixels`,
      );
    }
    if (labels.length > 0) {
      assert.equal(numberOf(labels[0], "x"), 0);
      isNear(
        numberOf(labels.at(-1) as FakeElement, "x"),
        fills.length * numberOf(colours[0], "width"),
        "last",
      );
    }
  }
  await fire(one(map, '[data-state="AK"]'), "pointerenter");
  assert.equal(states.has("AK"), false);
  assert.match(noteIn(map)[0], /^Alaska: no prices$/);
  assert.match(textOf(all(map, "p").at(-1)), /^Maryland sets its own hospital prices/);
  assert.match(
    one(map, ".picture").getAttribute("aria-label") ?? "",
    /^Map of the median charge by state, \d+ states? /,
  );
  const chosen = /state=(\w\w)/.exec(address)?.[1];
  assert.equal(
    all(map, ".chosen use")
      .map((use) => use.getAttribute("href"))
      .join(),
    chosen ? `/states.svg#${chosen}` : "",
  );
  const [other] = priced;
  await click(one(map, `[data-state="${other.state}"]`));
  assert.equal(
    new URLSearchParams(addressOf().split("?")[1]).get("state"),
    other.state === chosen ? null : other.state,
  );
  if (other.state === chosen) return;
  await click(one(root, `.map [data-state="${other.state}"]`));
  assert.equal(new URLSearchParams(addressOf().split("?")[1]).get("state"), null);
}

async function assertYears(address: string): Promise<void> {
  const query = /procedure=\d+(&state=\w+)?/.exec(address)?.[0];
  const { data } = answer(`/healthcare/trends?${query}`);
  const list = answer(
    `${address.includes("year") ? "/versions/2023" : ""}/healthcare/facilities?${query}&limit=50`,
  ).data;
  const trendOf = (ccn: string): Any[] => {
    try {
      return answer(`/healthcare/facilities/${ccn}/trends?${query?.split("&")[0]}`).data;
    } catch {
      return [];
    }
  };
  // Hospitals near the median have the labels that are hardest to place.
  const off = (row: Any) => Math.abs(row.submitted_charge - data.at(-1).median_charge);
  const compared = list.toSorted((a: Any, b: Any) => off(a) - off(b)).slice(0, 2);
  for (const pinned of address.includes("year") ? [[]] : [compared, []]) {
    const ccns = pinned.map(({ ccn }: Any) => ccn).join(",");
    const root = await view("explore", address + (ccns && `&with=${ccns}`));
    const card = all(root, ".card").find((each) => textOf(one(each, "h2")).startsWith("Over the years"));
    assert.ok(card);
    const picture = one(card, ".picture");
    const places = all(picture, ".reach").map((reach) => reach.parentNode ?? reach);
    const [first, newest] = [data[0].data_year, data.at(-1).data_year];
    for (const [i, each] of places.entries())
      isNear(numberOf(each, "x"), (100 * (data[i].data_year - first)) / (newest - first), "a year's place");
    assert.deepEqual(
      places.map((each) => textOf(each)),
      data.map((row: Any) => String(row.data_year)),
    );
    const yOf = (element: FakeElement) => numberOf(element.parentNode ?? element, "y");
    const ticks = all(picture, "g").filter(
      (group) => (group.firstChild as FakeElement | null)?.getAttribute?.("class") === "track",
    );
    const at = scaleOf([
      ...ticks.map((tick): [number, number] => [
        amountOf(textOf(tick)),
        numberOf(tick.firstChild as FakeElement, "y1"),
      ]),
      ...places.flatMap((each, i): [number, number][] => [
        [data[i].median_charge, yOf(shapes(each, "charge")[0])],
        [data[i].median_allowed, yOf(shapes(each, "allowed")[0])],
      ]),
    ]);
    const own = pinned.map(({ ccn }: Any) =>
      trendOf(ccn).filter(
        (row) => row.submitted_charge !== null && data.some((year: Any) => year.data_year === row.data_year),
      ),
    );
    const lowest = Math.max(
      ...data.map((row: Any) => (row.facilities < 8 ? row.median_charge : row.p75_charge)),
      ...own.flat().map((row: Any) => row.submitted_charge),
    );
    assert.ok(at(lowest) >= 14 && at(lowest) < 40, "the highest amount is near the top");
    isNear(at(0), 262, "the axis begins at zero");
    const marks = all(picture, "g.mark");
    assert.deepEqual(
      marks
        .filter((mark) => !mark.getAttribute("class")?.includes("end"))
        .map((mark) => all(mark, ".pin-shape").length),
      own.map((rows: Any) => rows.length),
    );
    for (const [i, mark] of marks.slice(0, own.length).entries()) {
      for (const [j, pin] of all(mark, ".pin-shape").entries())
        isNear(yOf(pin), at(own[i][j].submitted_charge), "a hospital's charge");
      assert.equal(all(mark, "line").length, Math.max(0, own[i].length - 1));
    }
    const last = data.at(-1);
    const ends = all(picture, ".end").map((end) => textOf(end));
    const expected = [
      `${money(last.median_charge)}median`,
      `${money(last.median_allowed)}allowed`,
      ...own.flatMap((rows: Any, i: number) => {
        const row = rows.find((one: Any) => one.data_year === last.data_year);
        return row ? [`${"AB"[i]} ${money(row.submitted_charge)}`] : [];
      }),
    ];
    assert.deepEqual(ends.toSorted(), expected.toSorted());
    const labels = all(picture, ".end text").map((text) => [numberOf(text, "y"), textOf(text).length]);
    for (const [i, [y]] of labels.entries())
      if (i > 0) assert.ok(y - labels[i - 1][0] >= 16, "labels don't overlap");
    for (const [i, each] of places.entries()) {
      const row = data[i];
      await fire(one(each, ".reach"), "pointerenter");
      assert.deepEqual(noteIn(picture), [
        `${row.data_year}: ${money(row.median_charge)}`,
        row.facilities < 8
          ? `${money(row.min_charge)} to ${money(row.max_charge)}`
          : `half ${money(row.p25_charge)} to ${money(row.p75_charge)}`,
        `Medicare allows ${money(row.median_allowed)}`,
        row.facilities === 1 ? "1 hospital" : `${row.facilities} hospitals`,
        ...own.flatMap((rows: Any, i: number) =>
          rows
            .filter((one: Any) => one.data_year === row.data_year)
            .map((one: Any) => `${"AB"[i]}: ${money(one.submitted_charge)}`),
        ),
      ]);
    }
    const year = Number(/year=(\d+)/.exec(address)?.[1] ?? 2024);
    assert.deepEqual(texts(picture, ".tick.strong"), [String(year)]);
    const row = data.find((one: Any) => one.data_year === year);
    const text = textOf(all(card, "p.quiet.small")[0]);
    if (row?.matched && row.matched.facilities >= 8) {
      const { median_charge, median_allowed, facilities } = row.matched;
      const moved = (share: number) =>
        share === 0 ? "stayed the same" : share > 0 ? `rose by ${share}%` : `fell by ${-share}%`;
      assert.ok(
        text.includes(
          `For ${facilities} hospitals with a price in both ${year - 1} and ${year}, each hospital's own charge typically ${moved(median_charge)}; Medicare's amount ${moved(median_allowed)}.`,
        ),
        text,
      );
    }
    assert.equal(
      text.includes("fewer than 8 hospitals"),
      data.some((row: Any) => row.facilities < 8),
      text,
    );
    const drawn = data.filter(
      (row: Any, i: number) =>
        i > 0 &&
        data[i - 1].data_year === row.data_year - 1 &&
        data[i - 1].name === row.name &&
        row.facilities >= 8 &&
        data[i - 1].facilities >= 8,
    );
    for (const kind of ["charge", "allowed"]) {
      const lines = all(picture, `.run line.${kind}`);
      assert.deepEqual(
        lines.map((line) => [numberOf(line, "y1"), numberOf(line, "y2")].map((y) => y.toFixed(1))),
        drawn.map((row: Any) =>
          [data[data.indexOf(row) - 1], row].map((one) => at(one[`median_${kind}`]).toFixed(1)),
        ),
      );
    }
  }
}

// The order lets tests of one address share what was drawn, until one of them clicks.
for (const address of ["/?procedure=5072", "/?procedure=5115&year=2023", "/?procedure=5115&state=CA"]) {
  test(`the years' points and texts are those of the trend: ${address}`, () => assertYears(address));
  if (address.includes("state"))
    test(`few hospitals have a dot each, apart from each other: ${address}`, () => assertDots("5115", "CA"));
  else test(`bars have the heights and places of the answer's counts: ${address}`, () => assertBars(address));
  test(`the map colours each state by its median: ${address}`, () => assertMap(address));
}

test("the texts of a legend with six colours don't touch at any width", () => assertMap("/?procedure=5113"));

test("the map colours each state by its median, and says why a state without prices has none", () =>
  assertMap("/?procedure=8011&state=MD"));

test("fewer than eight hospitals have a dot each, and all their amounts are marked", () =>
  assertDots("5375", "NY"));

test("a hospital's years have its own charges and allowed amounts, beside the nation's median", async () => {
  const [{ ccn }] = answer(
    "/versions/2022/healthcare/facilities?procedure=5112&limit=1&sort=services&order=desc",
  ).data;
  const own = answer(`/healthcare/facilities/${ccn}/trends?procedure=5112`).data.filter(
    (row: Any) => row.submitted_charge !== null,
  );
  const nation = answer("/healthcare/trends?procedure=5112").data;
  const root = await open("facility", `/facilities/${ccn}?procedure=5112&year=2022`);
  const picture = one(one(root, ".pictures .card"), ".picture");
  const placeOf = (shape: FakeElement): [number, number] => {
    const { parentNode } = shape;
    return [numberOf(parentNode ?? shape, "x"), numberOf(parentNode ?? shape, "y")];
  };
  const [first, last] = [nation[0].data_year, nation.at(-1).data_year];
  const xOf = (row: Any) => (100 * (row.data_year - first)) / (last - first);
  const y = scaleOf(
    nation.map((row: Any, i: number): [number, number] => [
      row.median_charge,
      numberOf(all(picture, "circle.nation")[i], "cy"),
    ]),
  );
  for (const [kind, field] of [
    ["charge", "submitted_charge"],
    ["allowed", "medicare_allowed"],
  ])
    for (const [i, shape] of shapes(picture, kind).entries()) {
      const [x, at] = placeOf(shape);
      isNear(x, xOf(own[i]), "year");
      assert.ok(Math.abs(at - y(own[i][field])) < 0.1, `${kind} of ${own[i].data_year}`);
    }
  assert.equal(shapes(picture, "charge").length, own.length);
  for (const [i, reach] of all(picture, ".reach").entries()) {
    await fire(reach, "pointerenter");
    const row = own.find((each: Any) => each.data_year === nation[i].data_year);
    assert.equal(noteIn(picture)[0], `${nation[i].data_year}: the nation ${money(nation[i].median_charge)}`);
    assert.deepEqual(
      noteIn(picture).slice(4),
      row ? [`own ${money(row.submitted_charge)}, allowed ${money(row.medicare_allowed)}`] : [],
    );
  }
  const ends = texts(picture, ".end");
  const newest = own.find((row: Any) => row.data_year === last);
  assert.deepEqual(
    ends.toSorted(),
    [
      `${money(nation.at(-1).median_charge)}nation`,
      ...(newest
        ? [`${money(newest.submitted_charge)}charged`, `${money(newest.medicare_allowed)}allowed`]
        : []),
    ].toSorted(),
  );
  assert.deepEqual(texts(picture, ".tick.strong"), ["2022"]);
});

test("the map's states are reached by keys, and chosen and given up by Enter and by clicks", async () => {
  const root = await open("explore", "/?procedure=5092&year=2021&with=000010");
  const map = () => one(root, ".map .picture");
  const stateIn = () => place.url.searchParams.get("state");
  const noteOf = async (key: string) => {
    await fire(map(), "keydown", { key });
    return [all(map(), ".pointed").length, ...noteIn(map())];
  };
  assert.deepEqual(await noteOf("Enter"), [0], "no state is active yet");
  assert.equal(stateIn(), null);
  assert.deepEqual(await noteOf("End"), [1, "Wyoming: no prices", "The data has no hospital there"]);
  assert.deepEqual((await noteOf("ArrowRight"))[1], "Alabama: no prices");
  for (const key of ["Enter", " "]) {
    await fire(one(map(), '[data-state="NY"]'), "pointerenter");
    assert.deepEqual(noteIn(map()), [
      "New York: $4,500",
      "8 hospitals, $1,000 to $8,000",
      "Medicare allows $335",
    ]);
    await noteOf(key);
    assert.equal(stateIn(), key === "Enter" ? "NY" : null, "a chosen state is given up");
  }
  await fire(map(), "pointerleave");
  assert.equal(all(map(), ".pointed").length, 0);
  const texas = () => one(map(), '[data-state="TX"]');
  await fire(texas(), "pointerenter");
  assert.deepEqual(noteIn(map()), ["Texas: $9,000", "a single hospital", "Medicare allows $380"]);
  await fire(texas(), "click");
  assert.equal(stateIn(), "TX");
  await fire(texas(), "click");
  assert.equal(stateIn(), null);
});

test("a number that another answer doesn't have is no longer shown, and a removed chip leaves the focus near", async () => {
  const root = await open("explore", "/?procedure=5092&year=2021&with=000010");
  const picture = () => one(one(root, ".spread"), ".picture");
  await fire(picture(), "keydown", { key: "End" });
  assert.deepEqual(noteIn(picture()), ["$9,000", "Hospital 000018", "City in TX, TX"]);
  const wider = page.createElement("a");
  wider.setAttribute("href", "/?procedure=5092&year=2021&with=000010&state=TX");
  root.append(wider);
  await fire(wider, "click");
  assert.equal(all(picture(), ".facility-dot").length, 1);
  assert.deepEqual(noteIn(picture()), []);
  for (const [name, field, left] of [
    ["Texas", ".place input", ["000010", null]],
    ["Hospital 000010", ".hospital input", [null, null]],
  ] as const) {
    await fire(
      all(root, ".chips a.chip").find((chip) => textOf(chip).includes(name)),
      "click",
    );
    assert.equal(page.activeElement, one(root, field));
    assert.deepEqual(
      ["with", "state"].map((each) => place.url.searchParams.get(each)),
      left,
    );
  }
  const years = await open("explore", "/?procedure=5072&year=2022");
  const trend = all(years, ".card").find((each) => textOf(one(each, "h2")).startsWith("Over the years"));
  const reach = one(trend ?? years, ".reach");
  await fire(reach, "pointerdown");
  const first = noteIn(one(trend ?? years, ".picture"));
  assert.ok(first.length > 0);
  await fire(one(trend ?? years, ".picture"), "pointerleave");
  await fire(reach, "pointerenter");
  assert.deepEqual(noteIn(one(trend ?? years, ".picture")), first);
});

test("labels of a scale stay within the picture, in their order, without touching each other", async () => {
  const moduleAt = (path: string) => import(String(new URL(`../../../server/${path}`, import.meta.url)));
  const { dollarScale, letterWidth, placedTicks } = await moduleAt("parts/portal/browser/picture.ts");
  const { leastWidths } = await moduleAt("shared/browser/labels.ts");
  const random = seededRandom(20_261_130);
  for (let i = 0; i < 300; i++) {
    const width = random.pick([...leastWidths, 700]);
    const [low, ratio] = [10 ** (1 + 4 * random.next()), 10 ** (3 * random.next())];
    const scale = dollarScale([low, low * ratio]);
    assert.ok(scale(low) > 0 && scale(low * ratio) < 100);
    const [from, to] = scale.domain();
    assert.ok(to / from >= 3.99, `the scale spans at least four times its least amount: ${to / from}`);
    const labels = placedTicks(scale, width);
    assert.ok(
      labels.length >= (width >= 220 ? 2 : 1),
      `${labels.length} labels on ${width} pixels, ${low} × ${ratio}`,
    );
    let end = -letterWidth;
    for (const { at, text, anchor } of labels) {
      isNear(at, scale(amountOf(text)), "a label's place");
      const length = text.length * letterWidth;
      const begin = (at * width) / 100 - { start: 0, middle: length / 2, end: length }[anchor as "start"];
      assert.ok(begin >= end + letterWidth - 1e-9 || end < 0, "labels are apart");
      assert.ok(begin >= -1e-9 && begin + length <= width + 1e-9, `${text} is within ${width} pixels`);
      end = begin + length;
    }
  }
});

test("a label that would touch the one before it is left out, and those at the edges are anchored there", async () => {
  const { placedLabels } = await import(
    String(new URL("../../../server/shared/browser/labels.ts", import.meta.url))
  );
  // On 100 pixels, each label is 20 pixels long, and a blank between two labels is 10.
  for (const [places, shown] of [
    [[0, 40], "0 start"],
    [[0, 41], "0 start, 41 middle"],
    [[9, 90], "9 start, 90 middle"],
    [[10, 91], "10 middle, 91 end"],
    [[0, 50, 100], "0 start, 50 middle, 100 end"],
    [[0, 30, 55, 100], "0 start, 55 middle, 100 end"],
    [[], ""],
  ] as const) {
    const labels = places.map((at) => ({ at, text: "ab" }));
    const { placed, isWhole } = placedLabels(labels, 100, 10);
    assert.equal(placed.map(({ at, anchor }: Any) => `${at} ${anchor}`).join(", "), shown);
    assert.equal(isWhole, placed.length === places.length);
  }
});

test("amounts, counts and shares are written for people", () => {
  const written = [
    ...[0, 0.004, 0.5, 7.5, 9.99, 9.999, 10, 10.4, 10.5, 999.5, 1234567].map(money),
    ...[0, 999, 1000, 12345, 1234567].map(whole),
    ...[0, 0.04, 0.06, 0.96, 1, 1.4, 50.5, 98.9, 99, 99.94, 99.96, 100].map(percent),
    ...[-12, 0, 12].map(change),
    ...[1, 1.25, 10].map(times),
    ...[0, 1, 2, 1000].map((count) => counted(count, "fish", "fishes")),
    ...["a\u0000b\u202ec\n", "é “x”"].map(printable),
  ];
  assert.deepEqual(written, [
    ...["$0", "$0.00", "$0.50", "$7.50", "$9.99", "$10.00", "$10", "$10", "$11", "$1,000", "$1,234,567"],
    ...["0", "999", "1,000", "12,345", "1,234,567"],
    ...["0%", "0%", "0.1%", "1%", "1%", "1%", "51%", "99%", "99%", "99.9%", "100%", "100%"],
    ...["−12%", "0%", "+12%", "1.0×", "1.3×", "10.0×"],
    ...["0 fishes", "1 fish", "2 fishes", "1,000 fishes", "a\ufffdb\ufffdc\ufffd", "é “x”"],
  ]);
});
