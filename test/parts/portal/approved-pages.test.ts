import { test } from "node:test";
import { assertApproved, outlineOf } from "../../support/approved.ts";
import { all, click, open, requests, textOf } from "../../support/drawn-page.ts";
import { copies, type FakeElement, pictures, saved, savedBlobs } from "../../support/fake-dom.ts";

/** Tests that pages with few numbers are drawn as they were approved, with the requests that they send. */

/** What a page has asked for and drawn. */
function seen(root: FakeElement, begun: number): string {
  const asked = requests.slice(begun).map(({ path, method }) => `${method} ${path}\n`);
  return `${asked.join("")}\n${outlineOf(root)}`;
}

const addresses = {
  start: ["explore", "/"],
  procedure: ["explore", "/?procedure=5091&year=2021"],
  "procedure-nine": ["explore", "/?procedure=5092&year=2021&sort=markup&order=desc"],
  "procedure-state": ["explore", "/?procedure=5091&year=2021&state=CA&with=000001,000003"],
  "procedure-near": ["explore", "/?procedure=5112&near=60614&within=25"],
  "procedure-years": ["explore", "/?procedure=5072&state=TX&year=2022"],
  "procedure-unknown": ["explore", "/?procedure=9999"],
  "words-for-procedures": ["explore", "/?q=knee+replacement+in+texas"],
  "words-for-hospitals": ["explore", "/?q=general+hospital"],
  "words-for-nothing": ["explore", "/?q=zzzzqq"],
  hospital: ["facility", "/facilities/000001?year=2021"],
  "hospital-procedure": ["facility", "/facilities/000011?procedure=5092&year=2021"],
  "hospital-unknown": ["facility", "/facilities/999999"],
  "embedded-states": ["explore", "/embed/states?procedure=5092&year=2021"],
  "embedded-charges": ["explore", "/embed/charges?procedure=5092&year=2021"],
  "embedded-years": ["explore", "/embed/years?procedure=5072"],
  "embedded-years-apart": ["explore", "/embed/years?procedure=5072&versions=2020.1,2022.1,2024.1&year=2022"],
  "embedded-hospitals": ["explore", "/embed/hospitals?procedure=5091&year=2021"],
  data: ["data", "/data?year=2021.1"],
  reference: ["reference", "/reference#prices"],
  signup: ["signup", "/signup"],
} as const;

for (const [name, [script, address]] of Object.entries(addresses))
  test(`the page is drawn as it was approved: ${address}`, async (t) => {
    let ms = 0;
    t.mock.method(performance, "now", () => (ms += 7.4));
    const begun = requests.length;
    assertApproved(`pages/${name}.txt`, seen(await open(script, address), begun));
  });

/** Opens every menu and table below the cards of a page, clicks every button there, and tells what was shown, copied and saved. */
async function clicked(root: FakeElement): Promise<string> {
  const lines: string[] = [];
  const openers = () => all(root, ".actions button[aria-expanded]");
  for (let i = 0; i < openers().length; i++) {
    const [copied, files, drawings] = [copies.length, saved.length, pictures.length];
    await click(openers()[i]);
    const card = openers()[i].closest("section");
    lines.push(`${card?.getAttribute("class")}: ${textOf(openers()[i])}\n`);
    const choices = () => all(root, ".choices button");
    if (choices().length === 0 && card !== null) lines.push(outlineOf(card, 1));
    for (let j = 0; j < choices().length; j++) {
      lines.push(` ${textOf(choices()[j])}\n`);
      await click(choices()[j]);
    }
    for (const text of copies.slice(copied)) lines.push(` copied: ${text}\n`);
    for (const [k, file] of saved.slice(files).entries())
      lines.push(` saved: ${file}\n${await savedBlobs[files + k].text()}\n`);
    // Of a picture's elements, those outside its drawings: the drawings are those of the page.
    for (const picture of pictures.slice(drawings))
      lines.push(`${picture.getAttribute("viewBox")}\n${outlineOf(picture).replaceAll(/^ .*\n/gm, "")}`);
    await click(openers()[i]);
  }
  return lines.join("");
}

for (const [name, script, address] of [
  ["procedure", "explore", "/?procedure=5092&year=2021&with=000010"],
  ["hospital", "facility", "/facilities/000001?year=2021"],
] as const)
  test(`the buttons below the cards do what was approved: ${address}`, async () => {
    assertApproved(`pages/buttons-${name}.txt`, await clicked(await open(script, address)));
  });
