import { hash } from "node:crypto";
import { test } from "node:test";
import { PageAnswers } from "../../../server/parts/portal/page-answers.ts";
import { assertApproved } from "../../support/approved.ts";
import { settings } from "../../support/drawn-page.ts";
import { answer } from "../../support/page-data.ts";
import { seededRandom } from "../../support/random.ts";

/** Tests that the server's pages say what was approved, at addresses with choices of every kind beside each other. */

/** What a choice may be, with what nobody should choose. */
const choices: Record<string, readonly string[]> = {
  procedure: ["5072", "5112", "5093", "5094", "5092", "9999", "45378", "knee replacement", "27447 in texas"],
  q: [
    "knee replacement",
    "45378",
    "99999",
    "hospital",
    "memorial hospital houston",
    "hospitals in cook county",
    "zzzzqq",
  ],
  year: ["2021", "2022", "2023.1", "2020", "1999", "x"],
  with: ["000001", "990003,990010", "000001,000002,000003,000004", "999999"],
  sort: ["markup", "name", "distance", "pays", "cheap"],
  order: ["desc", "asc"],
  shown: ["12", "999"],
  versions: ["2023.1,2022.1", "1999.1"],
};
const states = ["CA", "MD", "PR", "texas", "ZZ"];
const around = ["60614", "77002", "Houston, TX", "springfield", "cook county", "00000", "99", "21201"];
const radiuses = ["1", "100", "500", "-4"];
/** Addresses of a hospital's page and of pictures are fewer. */
const hospitals = ["/facilities/990003", "/facilities/000001", "/facilities/999999"];
const embeds = ["/embed/states", "/embed/charges", "/embed/years", "/embed/hospitals", "/embed"];
const pages = 50;

/** A page's HTML as lines of text, with the addresses of its links. */
function linesOf(page: string): string[] {
  return page
    .replaceAll(/<style.*?<\/style>/gs, "")
    .replaceAll(/<meta name="description" content="([^"]*)">/g, "\n$1\n")
    .replaceAll(/<[^>]* (?:height|aria-label)="([^"]*)"/g, "\n$1\n$&")
    .replaceAll(/ href="(\/[^"]*)"[^>]*>/g, ">[$1] ")
    .replaceAll(/<\/?(?:h\d|p|li|tr|div|section|title|button|label|option|summary|g)\b[^>]*>/g, "\n")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&amp;", "&")
    .split("\n")
    .map((line) => line.replaceAll(/\s+/g, " ").trim())
    .filter(Boolean);
}

function* drawnAddresses(): Iterable<[path: string, parameters: URLSearchParams]> {
  const random = seededRandom(20_261_130);
  for (let i = 0; i < pages; i++) {
    const path = random.pick(["/", "/", "/", "/", random.pick(hospitals), random.pick(embeds)]);
    const parameters = new URLSearchParams();
    const place = random.int(5);
    if (place === 0) parameters.set("state", random.pick(states));
    if (place === 1 || place === 2) parameters.set("near", random.pick(around));
    if (place === 1) parameters.set("within", random.pick(radiuses));
    for (const [name, values] of Object.entries(choices))
      if (random.int(4) === 0) parameters.set(name, random.pick(values));
    yield [path, parameters];
  }
}

/** Addresses whose pages say what few others say, one on a line. */
const rare = `
  /?q=knee replacement 60614
  /?q=knee replacement sprinfield il
  /?q=knee replacement springfield
  /?q=knee replacement in texas
  /?q=knee replacement ok
  /?q=knee replacement frobnicate
  /?q=knee replacement in chicago 60614
  /?q=biopsy springfield
  /?q=biopsy in texas
  /?q=biopsy near 60614
  /?q=biopsy in chicago
  /?q=biopsy frobnicate in texas
  /?q=brain scan in texas
  /?q=mri knee replacement
  /?q=mri xyzzy
  /?q=dental crown
  /?q=insulin
  /?q=ct biopsy
  /?q=60614
  /?q=texas
  /?q=new york
  /?q=springfield
  /?q=sprinfield il
  /?q=sprinfield
  /?q=cook county, il
  /?q=a
  /?q=me knee replacement
  /?q=ingrown toenail frobnicate
  /?q=5072
  /?q=99999
  /?q=J1234
  /?q=sacred heart
  /?q=la
  /?procedure=5115&q=knee replacement ok
  /?procedure=5115&q=biopsy
  /?procedure=5115&q=knee replacement frobnicate
  /?procedure=5115&q=knee replacement
  /?procedure=5072&near=chicgo, il
  /?procedure=5072&near=Narnia
  /?procedure=5072&near=21201&within=10
  /?procedure=5072&near=Guam
  /?procedure=5072&state=PR
  /?procedure=5072&near=60614&sort=pays
  /?procedure=5072&versions=1999.1,1998.1
  /?procedure=5072&year=2010&versions=2023.2
  /?procedure=5072&with=999999
  /?procedure=5072&versions=2022.1,2024.1&with=990032
  /?procedure=5072&versions=2021.1,2022.1
  /?procedure=5072&near=60614&with=990003,999999
  /?year=2020
  /?year=2021
  /?year=2023.1
  /facilities/1?year=2021
  /facilities/00003?year=2021
  /facilities/1.0
  /facilities/210001
  /facilities/abc
  /facilities/990003?year=2010
  /facilities/000001?year=2021&procedure=5093
  /facilities/000002?year=2021&procedure=5072
  /facilities/000003?year=2021
  /facilities/000011?year=2021
  /facilities/000018?year=2021&procedure=5092
  /facilities/990003?year=1999&procedure=5112
  /facilities/990003?procedure=5072&near=36641
  /?procedure=5091&year=2021&state=TX&with=000003
  /?procedure=5091&year=2021&state=CA&with=000001,000002
  /?procedure=5091&year=2021&with=000001,000002,000003
  /?procedure=5091&year=2021&sort=services
  /?procedure=5094&year=2021&with=000003&state=TX
  /?procedure=5093&year=2021&with=000001
  /?procedure=5093&state=SD&year=2023
  /?procedure=5094&state=SD&year=2023
  /embed
`;

/** An address for each small number of hospitals with a price. */
function addressesByCount(): [path: string, parameters: URLSearchParams][] {
  const found = new Map<number, URLSearchParams>();
  for (const { code } of answer("/healthcare/procedures?sort=code&limit=100").data)
    for (const { state, facilities } of answer(`/healthcare/procedures/${code}`).data)
      if (facilities <= 20 && !found.has(facilities))
        found.set(facilities, new URLSearchParams({ procedure: code, state }));
  return [...found].sort(([a], [b]) => a - b).map(([, parameters]) => ["/", parameters]);
}

test("pages at drawn and rare addresses say what was approved", async () => {
  // Imported last, because from then on it makes all elements in this process as text.
  const { write } = await import("../../../server/parts/portal/written.ts");
  const answers = new PageAnswers((path, query) =>
    answer(`${path.slice("/api/v1".length)}${query && `?${query}`}`),
  );
  const known = new Set<string>();
  const texts: string[] = [];
  const rareAddresses = rare
    .trim()
    .split(/\n\s*/)
    .map((address) => {
      const [path, query] = address.split("?");
      return [path, new URLSearchParams(query)] as const;
    });
  for (const [path, parameters] of [...drawnAddresses(), ...addressesByCount(), ...rareAddresses]) {
    const { head, body, isMissing } = write(path, `${parameters}`, settings, answers);
    const lines = linesOf(head + body.slice(0, 2).join(""));
    // The digest is of all elements with all attributes.
    const digest = hash("sha256", `${head}${body.join("")}`, "hex").slice(0, 8);
    texts.push(
      `\n${decodeURIComponent(`${path}?${parameters}`)}${isMissing ? " is missing" : ""}: ${digest}`,
    );
    // Rows of hospitals and SQL are approved in other pages.
    const fresh = lines.filter(
      (line) => !known.has(line) && !/^\[\/facilities|^[A-Z)( ]+\b.*[A-Z]{5}|^round|^m(in|ax)\(/.test(line),
    );
    for (const line of fresh) known.add(line);
    texts.push(...fresh);
  }
  assertApproved("pages/written.txt", texts.join("\n"));
});
