import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import * as v from "valibot";
import { procedureFigures } from "../../datasets/sample/calibration.ts";
import { findPlace } from "../../engine/image/places.ts";
import {
  attachImage,
  buildImage,
  type DocumentKind,
  type Image,
  search,
  stateNames,
} from "../../engine/index.ts";
import {
  isFirstMeant,
  likelyCities,
  listFacilities,
  pointAt,
  splitWords,
  textAt,
} from "../../engine/query.ts";
import { phrasesOf } from "../../engine/search/lexicon.ts";
import { stateOf } from "../../engine/search/places.ts";
import { allAbsentTerms, plainWordsOf } from "../../engine/search/procedure-words.ts";
import { assertApproved } from "../support/approved.ts";
import { dataPath } from "../support/data.ts";
import { changed, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { places } from "../support/places.ts";
import { seededRandom } from "../support/random.ts";
import { find, type Hospital, realHospitals } from "../support/relevance.ts";
import { rounds } from "../support/rounds.ts";

/** Tests searches in people's own words: questions, places, numbers, codes, Spanish, and what the data can't have. */

/** All procedure groups have a price at the first hospital of each state, and 5072 has one at each hospital. */
function imageWith(hospitals: readonly Hospital[]): Image {
  const official = new Map(procedureFigures.map(({ code, name }) => [code, name]));
  const byCcn = new Map(hospitals.map((hospital) => [hospital.ccn, hospital]));
  const [first] = hospitals;
  const firsts = [...Map.groupBy(hospitals, ({ state }) => state).values()].map(([each]) => each);
  const others = hospitals.filter((each) => !firsts.includes(each));
  const rows = [
    ...firsts.flatMap(({ ccn, state }) =>
      procedureFigures.map(({ code }): ShortRow => [ccn, state, code, 1, 1]),
    ),
    ...others.map(({ ccn, state }): ShortRow => [ccn, state, "5072", 1, 1]),
  ];
  const content = changed(snapshotOf(rows), ({ facilities, procedures }) => {
    for (const i of procedures.name.keys()) procedures.name[i] = official.get(procedures.code[i]) ?? "";
    for (const [i, ccn] of facilities.ccn.entries()) {
      const { name, city, zip } = byCcn.get(ccn) ?? first;
      facilities.name[i] = name;
      facilities.city[i] = city;
      facilities.zip[i] = zip ?? "";
    }
  });
  return attachImage(buildImage(content, undefined, places));
}

const selves = phrasesOf("self");

const invented = [
  ["010001", "Ashgrove Memorial Hospital", "Chicago", "IL", "60611"],
  ["010002", "Quill Medical Center", "Chicago", "IL", "60614"],
  ["010003", "Merrow Hospital", "New York", "NY", "10016"],
  ["010004", "Elmhurst Hospital Center", "Elmhurst", "NY", "11373"],
  ["010005", "Elmhurst Memorial Hospital", "Elmhurst", "IL", "60126"],
  ["010006", "Strand Regional Medical Center", "Myrtle Beach", "SC", "29572"],
  ["010007", "Carter General Hospital", "Morehead City", "NC", "28557"],
  ["010008", "Flagstaff Mesa Clinic", "Flagstaff", "AZ", "86001"],
  ["010009", "Palm Hospital", "Tampa", "FL", "33606"],
  ["010010", "Bay Area Hospital", "Coos Bay", "OR", "97420"],
  ["010011", "Huntington Hospital", "Huntington", "NY", "11743"],
  ["010012", "Huntington Hospital", "Pasadena", "CA", "91105"],
  ["010013", "Ochsner Clinic Foundation", "New Orleans", "LA", "70121"],
  ["010014", "St Elizabeth Hospital", "Boardman", "OH", "44512"],
  ["010015", "Fort Wick Hospital", "Laredo", "TX", "78041"],
  ["010016", "Anderson Hospital", "Corpus Christi", "TX", "78404"],
  ["010017", "Houston Methodist Hospital", "Houston", "TX", "77030"],
  ["010018", "Massachusetts General Hospital", "Boston", "MA", "02114"],
  ["010019", "Women & Infants Hospital", "Providence", "RI", "02905"],
  ["010020", "Quill Cancer Hospital", "Boise", "ID", "83712"],
  ["010021", "Wyoming County Hospital", "Warsaw", "NY", "14569"],
  ["010022", "Teton Hospital", "Jackson", "WY", "83001"],
  ["010023", "Mercer Memorial", "Delaware", "OH", "43015"],
  ["010024", "Dover Hospital", "Dover", "DE", "19901"],
  ["010025", "St Joseph Hospital", "Phoenix", "AZ", "85013"],
  ["010026", "Garden Isle Hospital", "Lihue", "HI", "96766"],
  ["010027", "Catholic Medical Center", "Manchester", "NH", "03102"],
  ["010028", "McLeod Regional Medical Center", "Florence", "SC", "29506"],
  ["010029", "Riley Hospital", "Manhattan", "KS", "66502"],
].map(([ccn, name, city, state, zip]): Hospital => ({ ccn, name, city, state, zip }));
const image = imageWith(invented);
const found = (query: string, kind: DocumentKind = "facility") =>
  find(image, query, kind).map(({ code }) => code.replace("0100", ""));
const first = (query: string, kind: DocumentKind = "facility") => found(query, kind)[0];
const absentIn = (query: string) => search(image, "procedure", query, 0, 1).absent;
const details = (query: string, kind: DocumentKind = "procedure") => search(image, kind, query, 0, 1);

describe("numbers", () => {
  test("a number that nothing has is no match, however short, and an APC isn't found for a DRG or an ICD code", () => {
    for (const query of [
      "DRG 470",
      "ms-drg 470",
      "DRG470 knee replacement",
      "drg stimulator 47",
      "ICD-10 M17.11",
      "M17.11",
    ])
      assert.deepEqual(found(query, "procedure"), [], query);
    for (const query of ["knee replacement 470", "cataract 7", "hernia 12"])
      assert.deepEqual(found(query, "procedure"), [], query);
    assert.equal(first("drg stimulator", "procedure"), "5465");
    assert.equal(first("tonsillectomy for a 6 year old", "procedure"), first("tonsillectomy", "procedure"));
  });

  test("the code of a diagnosis is set aside beside a procedure, as on a referral", () => {
    for (const [query, code] of [
      ["TKA 27447, M17.11", "M17.11"],
      ["27447; M17.11", "M17.11"],
      ["knee replacement icd-10 m17.11", "M17.11"],
      ["Z96.651 knee replacement", "Z96.651"],
      ["hip replacement (S72.001A)", "S72.001A"],
    ]) {
      const { total, scores, ignored } = details(query);
      assert.equal(first(query, "procedure"), "5115", query);
      assert.ok(total > 0 && scores[0] < 0.5, query);
      assert.deepEqual(ignored, [code], query);
    }
    for (const query of ["M17.11 please", "M17.11 Z96.651", "DRG 470 M17.11 knee replacement"])
      assert.deepEqual(found(query, "procedure"), [], query);
  });

  test("a level is understood in words, figures and short forms, and isn't another level", () => {
    for (const query of [
      "level three upper gi",
      "lvl 3 upper gi",
      "Lev. III upper GI",
      "3rd level upper gi",
      "upper gi 3",
    ])
      assert.deepEqual(found(query, "procedure"), ["5303"], query);
    for (const query of ["level three endoscopy", "level 5 urology"])
      for (const { name } of find(image, query, "procedure"))
        assert.match(name, query.includes("three") ? /Level 3/ : /Level 5/, query);
    assert.equal(first("L4-L5 discectomy", "procedure"), first("discectomy", "procedure"));
  });

  test("five digits that are a ZIP code are a place, and else a CCN that lost its zero", () => {
    for (const query of [
      "60614",
      "hospitals in 60614",
      "nearest hospital to 60614",
      "near 60614",
      "hospitales cerca de 60614",
    ]) {
      assert.deepEqual(found(query).slice(0, 2), ["02", "01"], query);
      assert.deepEqual(details(query, "facility").place, { near: "60614" }, query);
    }
    // 10003 is in Manhattan, and 010003 would be Merrow Hospital's CCN too; 10002 would be a hospital in Chicago.
    assert.equal(first("10002"), "03");
    assert.equal(first("00010"), undefined);
    assert.deepEqual(found("60614 ashgrove"), ["01"]);
    assert.equal(first("Quill Medical Center, 123 West Elmhurst Ave, Chicago, IL 60614"), "02");
  });

  test("a CCN may have a hyphen and words before it, and lack its first zero after the word CCN", () => {
    for (const query of [
      "01-0010",
      "ccn 010-010",
      "provider number 010010",
      "CCN: 01-0010",
      "medicare provider id 010010",
      ...["ccn 10010", "ccn #10010", "CCN: 10010", "ccn#10010"],
    ])
      assert.deepEqual(found(query), ["10"], query);
  });
});

describe("places", () => {
  test("half a state's name isn't the state, and a whole one is", () => {
    assert.deepEqual(found("north tampa"), []);
    // A word of a state's name is a word all the same.
    assert.deepEqual(found("south strand hospital"), ["06"]);
    assert.equal(first("north carolina general"), "07");
    assert.equal(first("Fla hospitals"), "09");
    assert.ok(found("fla").includes("08"), "while Flagstaff is typed");
  });

  test("a region means its states, or its city and 50 miles around, and a county is refused", () => {
    for (const [query, ccns] of [
      ["hospitals in New England", ["18", "19", "27"]],
      ["clinics in the midwest", ["01", "02", "05", "14", "23", "29"]],
      ["hospitals in southern california", ["12"]],
      ["hospitals near socal", ["12"]],
    ] as const) {
      assert.deepEqual(found(query).toSorted(), ccns, query);
      assert.ok(find(image, query)[0].score < 0.5, query);
    }
    for (const query of ["Cook County", "hospitals in Cook County"])
      assert.deepEqual(found(query), [], query);
    assert.equal(first("bay area hospital"), "10");
  });

  test("a nickname's cities are in its state only", () => {
    assert.deepEqual(found("hospital new york city").toSorted(), ["03", "04"]);
    assert.deepEqual(found("huntington hospital long island"), ["11"]);
  });

  test("a place in a search for procedures is taken off and returned", () => {
    for (const [query, code, place] of [
      ["hernia repair Chicago IL", "5341", { near: "Chicago, IL" }],
      ["cataract surgery in Boston MA", "5491", { near: "Boston, MA" }],
      ["cataract surgery in Boston", "5491", { near: "Boston, MA" }],
      ["knee replacement in Houston", "5115", { near: "Houston, TX" }],
      ["knee replacement near 60614", "5115", { near: "60614" }],
      ["hip replacement in texas", "5115", { state: "TX" }],
      ["hip replacement Wausau WI", "5115", { near: "Wausau, WI" }],
      ["hip replacement in Wausau", "5115", { near: "Wausau" }],
      ["hip replacement", "5115", null],
    ] as const) {
      assert.equal(first(query, "procedure"), code, query);
      assert.deepEqual(details(query).place, place, query);
      assert.ok(details(query).scores[0] >= 0.5, query);
    }
  });
});

test("a misspelt city, or a city with another state, has likely cities, and a name of several states has all", () => {
  const likely = (text: string) => likelyCities(image, splitWords(text)).map(({ name }) => name);
  const random = seededRandom(20_260_405);
  const cities = [...new Set(realHospitals().map(({ city, state }) => `${city}, ${state}`))];
  const typos = rounds(50);
  let found = 0;
  for (let i = 0; i < typos; ) {
    const city = random.pick(cities);
    const at = 1 + random.int(city.length - 5);
    const typo = city.slice(0, at) + city.slice(at + 1);
    // The table of places may lack a city, a short name says too little, and a typo may make another city.
    if (city.length < 10 || likely(city)[0] !== city || likely(typo)[0] === typo || /[^a-z]/i.test(city[at]))
      continue;
    i++;
    if (likely(typo).includes(city)) found++;
    assert.ok(likely(typo).length <= 5, typo);
  }
  assert.ok(found >= 0.95 * typos, `${found} of ${typos}`);
  assert.equal(likely("Chicago, TX")[0], "Chicago, IL");
  // Most of these hospitals are around New York.
  assert.equal(likely("Springfield")[0], "Springfield, NJ");
  assert.ok(likely("Springfield").length > 20);
  assert.deepEqual(likely("Xqzxqz"), []);
});

describe("a place beside a procedure, without a word such as in", () => {
  test("a city is taken off if it is the only one of its name, or far larger than the others", () => {
    for (const [query, near] of [
      ["hip replacement Chicago", "Chicago, IL"],
      ["Houston hip replacement", "Houston, TX"],
      ["how much is a hip replacement new orleans price", "New Orleans, LA"],
      ["hip replacement miami", "Miami, FL"],
      ["hip replacement long beach", "Long Beach, CA"],
      ["hip replacement cleveland", "Cleveland, OH"],
      ["hip replacement pdx", "Portland, OR"],
      ["hip replacement mobile alabama", "Mobile, AL"],
    ]) {
      assert.equal(first(query, "procedure"), "5115", query);
      const { place, ignored, scores } = details(query);
      assert.deepEqual([place, ignored], [{ near }, []], query);
      assert.ok(scores[0] >= 0.5, query);
    }
    for (const query of ["MRI in Miami", "MRI Miami"])
      assert.deepEqual(details(query).place, { near: "Miami, FL" }, query);
  });

  test("a state's code at the end is the state, in capitals also if it is a word, and never beside a part of the body", () => {
    const codes = "AL CA CO DE HI ID IL IN MA MD ME MO MT NE OH OK OR PA SC TX VT WA";
    for (const state of codes.split(" "))
      for (const procedure of ["knee replacement", "hip arthroplasty", "cataract surgery,", "pacemaker"])
        for (const query of [`${procedure} ${state}`, `${state} ${procedure}`])
          assert.deepEqual(details(query).place, { state }, query);
    for (const query of [
      "27447 IN",
      "TX 27447",
      "27447 de",
      "hip TX",
      "gallbladder surgery TX",
      "knee replacement CT",
    ]) {
      const state = query === "27447 de" ? null : query.replace(/^27447 | 27447$|^.* (?=..$)/g, "");
      assert.deepEqual(details(query).place, state && { state }, query);
    }
    for (const state of ["ca", "il", "ma", "mo", "oh", "pa", "tx"]) {
      const query = `knee replacement ${state}`;
      assert.deepEqual(details(query).place, { state: state.toUpperCase() }, query);
      assert.ok(details(query).scores[0] >= 0.5, query);
      assert.deepEqual(details(query.toUpperCase()).place, { state: state.toUpperCase() }, query);
    }
    for (const query of [
      ...[
        "colon CA",
        "breast ca",
        "knee tx",
        "modifier ca",
        "abdomen CT",
        "knee CT",
        "knee replacement for me",
      ],
      ...["fracture repair or", "hernia repair in", "KNEE REPLACEMENT OK", "pump for MS", "stent after MI"],
      ...["hernia repair by PA", "Dr Smith MD cataract", "la catarata", "prior MI pacemaker"],
    ])
      assert.deepEqual(details(query).place, null, query);
  });

  test("a city whose name is in a procedure's, too, is a place unless that procedure is meant", () => {
    for (const [query, near] of [
      ["knee replacement Boston", "Boston, MA"],
      ["Boston knee replacement", "Boston, MA"],
      ["knee replacement Boston, MA", "Boston, MA"],
      ["27447 Boston", "Boston, MA"],
      ["pacemaker Boston MA", "Boston, MA"],
      ["hernia repair austin", "Austin, TX"],
      ["knee replacement boston ma 02115", "02115"],
      ["pacemaker New York NY", "New York, NY"],
      ["marcapasos Nueva York, NY", "New York, NY"],
      ["pacemaker in New York, NY", "New York, NY"],
      ["knee Des Moines IA", "Des Moines, IA"],
      ["cataract Port Huron MI", "Port Huron, MI"],
      ["knee replacement near chicago, il 60614", "60614"],
    ]) {
      const { place, ignored, scores } = details(query);
      assert.deepEqual([place, ignored], [{ near }, []], query);
      assert.ok(scores[0] >= 0.5, query);
    }
    for (const query of ["boston kpro", "cornea boston kpro", "austin bunionectomy"])
      assert.deepEqual(details(query).place, null, query);
  });

  test("a name of several cities is set aside and isn't a place", () => {
    for (const city of ["springfield", "columbus", "kansas city", "rochester"])
      for (const query of [`hip replacement ${city}`, `${city} hip replacement`, `pacemaker ${city}`]) {
        const { place, ignored, scores, total } = details(query);
        assert.deepEqual([place, ignored], [null, city.split(" ")], query);
        assert.ok(total > 0 && scores[0] < 0.5, query);
      }
    assert.deepEqual(found("reading glasses", "procedure"), []);
    // A village of this name doesn't hide an unknown word.
    assert.deepEqual(details("cataract surgery bath").place, null);
    assert.deepEqual(details("hip replacement in Springfield").place, { near: "Springfield" });
  });

  test("five digits are a ZIP code beside a state, and else a code, whatever ZIP codes there are", () => {
    assert.deepEqual(details("knee replacement chicago il 60601").place, { near: "60601" });
    for (const query of ["knee replacement 60601", "27447 60601", "knee replacement 02139"]) {
      const code = query.slice(-5);
      assert.deepEqual([details(query).place, details(query).ignored], [null, [code]], query);
    }
  });
});

describe("a place beside any procedure", () => {
  const real = imageWith([
    ...new Map(realHospitals().map((each): [string, Hospital] => [each.state, each])).values(),
  ]);
  const codes = new Set(Array.from(real.stateOf.keys(), (facility) => textAt(real.state, facility)));
  const terms = Object.values(plainWordsOf)
    .flatMap((words) => words.terms)
    // Such a term has a state or words before the person who asks: renal mass, tendon transfer.
    .filter((term) => !term.split(" ").some((word) => stateOf(word) !== undefined || selves.has(word)));

  test("letters of a state are read as it, or the search with the state is offered, without a word before it", () => {
    const random = seededRandom(20_260_401);
    for (const term of terms)
      for (const code of codes) {
        if (random.int(200) >= rounds(1)) continue;
        const end = `${random.pick([" ", " in "])}${code.toLowerCase()}`;
        const query = term + end;
        const isRead = ({ place }: ReturnType<typeof search>) =>
          place !== null && "state" in place && place.state === code;
        const details = search(real, "procedure", query, 0, 1);
        // Words that say nothing may follow or precede.
        for (const more of [`${query} cost`, `cost of ${query} price`, `${term} cost${end}`]) {
          const found = search(real, "procedure", more, 0, 1);
          if (isRead(details)) assert.ok(isRead(found) || found.total === 0, more);
        }
        const { total, alternative } = details;
        if (total === 0 || isRead(details)) continue;
        assert.ok(alternative !== null, query);
        // LA is the city or the state.
        if (code !== "LA") assert.deepEqual(alternative, { q: term, state: code }, query);
      }
  });

  test("a place that nothing knows is set aside, and a city that begins with the article is one", () => {
    const random = seededRandom(20_260_401);
    const made = () => Array.from({ length: 9 }, () => random.pick([..."bcdfghjklmnpqrstvwxz"])).join("");
    const regions = [...Array.from({ length: 50 }, made), "Cook County", "Orange County", "New England"];
    for (const place of regions)
      for (const term of [random.pick(terms), "knee replacement"]) {
        const query = `${term} in ${place}`;
        const found = search(real, "procedure", query, 0, 1);
        assert.deepEqual(found.ignored, place.toLowerCase().split(" "), query);
        assert.deepEqual([found.place, !(found.scores[0] >= 0.5)], [null, true], query);
        assert.deepEqual(found.documents, search(real, "procedure", term, 0, 1).documents, query);
      }
    const cities = [...new Set(places.cities?.name)].filter((name) => /^the /i.test(name));
    assert.ok(cities.length > 5);
    for (const near of cities)
      for (const query of [`knee replacement in ${near}`, `knee replacement in ${near.replace(",", "")}`])
        assert.deepEqual(search(real, "procedure", query, 0, 1).place, { near }, query);
  });

  test("the letters after an article are no state, and name the hospitals of Veterans Affairs", () => {
    for (const query of ["knee replacement at the VA", "hernia repair at the va hospital"]) {
      const { place, ignored, absent, scores } = details(query);
      assert.deepEqual([place, ignored], [null, ["va"]], query);
      assert.match(absent[0].name, /Veterans/);
      assert.ok(scores[0] < 0.5, query);
    }
    assert.match(details("knee replacement VA").absent[0].name, /Veterans/);
  });
});

describe("a place and nothing else", () => {
  test("a state's name or code means the state after in and in a search for hospitals, and not a city or county", () => {
    for (const query of [
      "hospitals in Wyoming",
      "todos los hospitales de Wyoming",
      "hospitals in WY",
      "Wyoming hospitals",
    ])
      assert.equal(first(query), "22", query);
    for (const query of ["hospitals in DE", "Delaware hospitals", "hospitales en Delaware"])
      assert.equal(first(query), "24", query);
    assert.deepEqual(found("hospitals in OR"), ["10"]);
    assert.deepEqual(found("hospitals in VA"), []);
    assert.equal(first("Wyoming County Hospital"), "21");
    assert.equal(first("hospital Delaware OH"), "23");
  });

  test("state of, city of and their Spanish forms say what kind of place follows", () => {
    for (const query of [
      ...["hospitals in the state of Delaware", "Delaware state hospitals", "hospitals in Delaware state"],
      ...["hospitales en el estado de Delaware", "State of Delaware hospitals"],
    ])
      assert.equal(first(query), "24", query);
    for (const query of [
      "hospitals in the city of Laredo",
      "hospitales en la ciudad de Laredo",
      "city of laredo hospital",
    ])
      assert.deepEqual(found(query), ["15"], query);
  });

  test("an island or a resort means its cities, and a nickname no other city", () => {
    assert.deepEqual(found("hospitals on Kauai"), ["26"]);
    assert.deepEqual(found("garden isle kauai"), ["26"]);
    assert.deepEqual(found("hospitals in Jackson Hole"), ["22"]);
    assert.equal(first("manhattan hospitals"), "03");
    assert.equal(first("manhattan"), "29");
    assert.deepEqual(found("hospitals in manhattan kansas"), ["29"]);
  });
});

describe("words that say nothing", () => {
  test("a sentence around a hospital's name or a place costs no score", () => {
    for (const [query, ccn] of [
      ["I live in Boardman Ohio, which hospitals are here?", "14"],
      ["is Ashgrove Memorial Hospital cheaper than others", "01"],
      ["they took my husband to Merrow", "03"],
      ["who owns Merrow Hospital", "03"],
      ["we moved to Laredo and need a hospital", "15"],
      ["my mother is at Ashgrove in Chicago", "01"],
      ["does Ashgrove charge more than other hospitals in Chicago", "01"],
      ["quiero saber los precios del hospital de Laredo", "15"],
      ["hospitales baratos en Laredo", "15"],
    ]) {
      const [top] = find(image, query, "facility");
      assert.equal(top?.code, `0100${ccn}`, query);
      assert.ok(top.score >= 0.5, query);
    }
    for (const [query, ccn, ignored] of [
      ["my insurance sent me to Ashgrove, what do they bill", "01", ["insurance"]],
      ["my dad had surgery at Ashgrove in Chicago, IL", "01", ["surgery"]],
      ["we're on vacation in Laredo, where is the hospital", "15", ["vacation"]],
      ["pharmacy at the Merrow Hospital", "03", ["pharmacy"]],
    ] as const) {
      assert.equal(first(query), ccn, query);
      assert.deepEqual(details(query, "facility").ignored, ignored, query);
      assert.ok(details(query, "facility").scores[0] < 0.5, query);
    }
    for (const query of [
      "my mother lives in Narnia",
      "kroger pharmacy",
      "car insurance",
      "knee surgery in Narnia",
      "my dad had knee surgery at Ashgrove in Chicago, IL",
    ])
      assert.deepEqual(found(query), [], query);
  });

  test("a sentence around a procedure costs no score", () => {
    for (const [query, code] of [
      ["which hospitals do cataract surgery and for how much", "5491"],
      ["what do hospitals charge for fixing a hernia in the groin", "5341"],
      ["how expensive are knee replacements usually", "5115"],
      ["they want to freeze the tumor in my prostate", "5376"],
      ["does insurance cover cataract surgery", "5491"],
      ["cirugía del túnel del carpo", "5431"],
    ]) {
      const [top] = find(image, query, "procedure");
      assert.equal(top?.code, code, query);
      assert.ok(top.score >= 0.5, query);
    }
    assert.equal(
      first("estimulador de médula espinal", "procedure"),
      first("estimulador medular", "procedure"),
    );
    for (const query of ["car insurance", "parking fee"])
      assert.deepEqual(found(query, "procedure"), [], query);
  });

  test("question words and verbs are ignored", () => {
    assert.deepEqual(found("what hospitals are in Boise"), ["20"]);
    assert.deepEqual(found("list all hospitals in Rhode Island"), ["19"]);
    assert.equal(first("where is Quill Medical Center"), "02");
    assert.equal(first("show me hospitals in Boston"), "18");
    assert.equal(first("how much is a knee replacement", "procedure"), "5115");
    assert.equal(first("cpt code 47562", "procedure"), "5361");
    assert.equal(first("APC code 5115", "procedure"), "5115");
  });

  test("from its third letter on, a word is found also while it says nothing", () => {
    for (const [query, ccn] of [
      ["for", "15"],
      ["and", "19"],
      ["corp", "16"],
    ])
      assert.equal(first(query), ccn, query);
    assert.equal(found("hospital").length, invented.length);
    for (const query of ["hospital", "clinic", "medical center", "regional"])
      assert.ok(found(query).length > 0 && find(image, query)[0].score < 0.5, query);
    for (const query of ["surgery", "procedure cost", "treatment"])
      assert.deepEqual(found(query, "procedure"), [], query);
  });

  test("a department says nothing beside a hospital's name, unless the name has it", () => {
    assert.deepEqual(found("Ashgrove cardiology"), ["01"]);
    assert.deepEqual(found("quill oncology department").toSorted(), ["02", "20"]);
    assert.deepEqual(found("cardiology"), []);
  });
});

test("a misspelt name with its city is a guess, and a saint may have only an initial", () => {
  const [guess] = find(image, "oshner new orleans");
  assert.equal(guess.code, "010013");
  assert.ok(guess.score < 0.5);
  assert.deepEqual(found("oshner"), []);
  assert.deepEqual(found("st e's boardman"), ["14"]);
});

test("a saint's Spanish name, initials in a city, and a name as it sounds find the hospital there; sounds are a guess", () => {
  for (const [query, ccn, isSure] of [
    ["hospital San José en Phoenix", "25", true],
    ["CMC manchester nh", "27", true],
    ["McCloud Regional Florence SC", "28", false],
    ["lareddo texas", "15", true],
    ["manchistar new hampshire", "27", false],
  ] as const) {
    const [top] = find(image, query, "facility");
    assert.equal(top?.code, `0100${ccn}`, query);
    assert.equal(top.score >= 0.5, isSure, query);
  }
  for (const query of ["hospital San José en Boise", "CMC boise", "McCloud"])
    assert.deepEqual(found(query), [], query);
});

test("a street that is written out is set aside before a name, and saints and numbers of names aren't streets", () => {
  for (const way of ["123 Main St", "123 Main St.", "123 Main Street", "9 N Oak Ave, Suite 4,"])
    for (const query of [`${way} palm hospital`, `${way} palm tampa`, `palm hospital ${way}`]) {
      const { ignored, scores } = details(query, "facility");
      assert.deepEqual(found(query), ["09"], query);
      assert.deepEqual(ignored, way.match(/\w+/g), query);
      assert.ok(scores[0] < 0.5, query);
    }
  for (const query of ["4 Palm St Elizabeth", "12 st elizabeth boardman"])
    assert.deepEqual([found(query), details(query, "facility").ignored], [[], []], query);
});

test("what hospitals don't treat is set aside beside a whole name", () => {
  for (const word of ["parking", "insurance", "copay", "billing", "gift shop"]) {
    const query = `massachusetts general hospital ${word}`;
    const { ignored, scores } = details(query, "facility");
    assert.equal(first(query), "18", word);
    assert.deepEqual([ignored.join(" "), scores[0] < 0.5], [word, true], word);
  }
});

test("hospitals, and a name, are found around a city that has no hospital", () => {
  for (const [query, near, isSure] of [
    ["hospitals near Evanston, IL", "Evanston, IL", true],
    ["ashgrove near Evanston, IL", "Evanston, IL", false],
  ] as const) {
    const { place, scores } = details(query, "facility");
    assert.deepEqual([place, scores[0] >= 0.5], [{ near }, isSure], query);
  }
});

test("the hospitals around a place are those of the list; the nearest have the highest scores, at any distance", () => {
  for (const zip of ["60614", "10016", "63101", "97420", "99723"])
    for (const miles of [5, 50, 137, 500]) {
      const center = pointAt(real, findPlace(real.placeZip, zip));
      const list = listFacilities(real, { status: "all", near: { ...center, miles } }, "distance");
      const tenths = new Map(Array.from(list.items, (facility, i) => [facility, list.distances[i]]));
      for (const what of ["hospitals", "memorial"]) {
        const query = `${what} within ${miles} miles of ${zip}`;
        const { documents, scores, total } = search(real, "facility", query, 0, Number.MAX_SAFE_INTEGER);
        if (what === "hospitals") assert.equal(total, list.items.length, query);
        assert.deepEqual(
          scores,
          scores.toSorted((a, b) => b - a),
          query,
        );
        // Hospitals with the same score are ordered by name, so only different scores are compared.
        const bands = Map.groupBy(documents.keys(), (i) => scores[i]);
        let before = 0;
        for (const band of bands.values()) {
          const ways = band.map((i) => tenths.get(documents[i]) ?? assert.fail(query));
          assert.ok(Math.min(...ways) >= before, query);
          before = Math.max(...ways);
        }
        // Among the nearest, hospitals a third of a mile apart have different scores within 50 miles.
        const [nearest] = bands.values();
        if (what === "hospitals" && miles <= 50 && nearest) {
          const ways = nearest.map((i) => tenths.get(documents[i]) ?? 0);
          assert.ok(Math.max(...ways) - Math.min(...ways) <= 3, query);
        }
      }
    }
});

test("a distance may have decimals, and be in kilometers", () => {
  const around = (distance: string) =>
    search(image, "facility", `hospitals within ${distance} of 60614`, 0, 100).total;
  assert.ok(around("4.5 miles") > 0);
  for (const [miles, kilometers] of [
    ["1 mile", "1.61 km"],
    ["2.5 miles", "4.03 kilometers"],
    ["31.1 mi", "50 km"],
  ])
    assert.equal(around(miles), around(kilometers), miles);
  assert.equal(around("0 miles"), 0);
});

test("several places find the hospitals of all, and none surely", () => {
  for (const [query, ...ccns] of [
    ["tampa, laredo", "09", "15"],
    ["hospitals in Tampa and Laredo", "09", "15"],
    ["hospitals in florida or oregon", "09", "10"],
  ]) {
    assert.deepEqual(found(query).toSorted(), ccns, query);
    assert.ok(details(query, "facility").scores[0] < 0.5, query);
  }
});

test("Spanish words are understood for hospitals, places and procedures", () => {
  assert.deepEqual(found("hospitales en laredo texas"), ["15"]);
  assert.equal(first("hospital metodista de houston"), "17");
  assert.equal(first("hospital general de massachusetts"), "18");
  for (const query of ["dónde está Massachusetts General Hospital", "el Massachusetts General Hospital"])
    assert.ok(first(query) === "18" && details(query, "facility").scores[0] >= 0.5, query);
  assert.deepEqual(details("código postal 33606", "facility").place, { near: "33606" });
  for (const [query, code] of [
    ["reemplazo de rodilla", "5115"],
    ["reemplazo de cadera", "5115"],
    ["marcapasos", "5223"],
    ["marcapasos nuevo", "5223"],
    ["una rodilla nueva", "5115"],
    ["batería nueva de marcapasos", "5223"],
    ["cirugía de cataratas", "5491"],
    ["operación de la vesícula", "5361"],
    ["hernia inguinal operación", "5341"],
    ["cuánto cuesta una histerectomía", "5362"],
    ["túnel carpiano", "5431"],
    ["piedras en el riñón", "5375"],
  ])
    assert.equal(first(query, "procedure"), code, query);
  assert.deepEqual(found("resonancia magnética", "procedure"), []);
});

test("a code that no group is known to include is set aside beside words, and then nothing is sure", () => {
  const { ignored, total, scores } = details("colonoscopy 45378, possible polyp removal");
  assert.deepEqual(ignored, ["45378"]);
  assert.ok(total > 0 && scores[0] < 0.5);
  assert.deepEqual(details("knee replacement 99213").ignored, ["99213"]);
  assert.deepEqual(details("knee replacement").ignored, []);
  assert.equal(details("99213").total, 0);
  assert.deepEqual(details("quill xylophone boise", "facility").ignored, ["xylophone"]);
});

test("words of different terms of a group are a guess, if they name something that is absent", () => {
  const { absent, scores } = details("therapy session");
  assert.ok(absent.length > 0 && !(scores[0] >= 0.5));
  for (const query of ["radiation therapy", "dialysis", "Level 3 Upper GI Procedures"])
    assert.ok(details(query).scores[0] >= 0.5, query);
});

test("words that fit several groups as well name the first one, and none of them surely", () => {
  const isMeant = (query: string) => isFirstMeant(search(image, "procedure", query, 0, 5).scores);
  for (const query of [
    ...["level 3 endoscopy", "level two endoscopy", "level 3 biopsy", "level 4", "level 3 gi"],
    ...["polyp removal", "remove polyps", "polypectomy", "tumor removal", "stone removal"],
  ]) {
    assert.equal(isMeant(query), false, query);
    assert.ok(details(query).total > 0, query);
  }
  for (const query of [
    ...[
      "Level 3 Airway Endoscopy",
      "level 3 pacemaker",
      "level 2 laparoscopy",
      "Level 3 Upper GI Procedures",
    ],
    ...["bladder polyp", "uterine polyp removal", "radiation therapy session"],
  ])
    assert.equal(isMeant(query), true, query);
});

test("letters of a state beside a procedure don't begin another word, and after in name nothing else", () => {
  for (const code of Object.keys(stateNames))
    for (const procedure of ["knee replacement", "stent", "ablation"])
      for (const query of [`${procedure} ${code.toLowerCase()}`, `${code.toLowerCase()} ${procedure}`]) {
        const [there] = find(image, query, "procedure", 1);
        if (there !== undefined) assert.equal(there.code, first(procedure, "procedure"), query);
      }
  for (const state of ["VA", "CT"]) {
    assert.deepEqual(details(`knee replacement in ${state}`).absent, []);
    assert.deepEqual(details(`blorb in ${state}`).absent, []);
    assert.equal(details(`knee replacement ${state}`).absent.length, 1);
  }
});

test("who works in hospitals is set aside beside a place, and nothing is sure", () => {
  for (const query of ["doctors in Tampa, FL", "best surgeons in Tampa", "tampa doctor"]) {
    const { scores, ignored } = details(query, "facility");
    assert.deepEqual(found(query), ["09"], query);
    assert.deepEqual([scores[0] < 0.5, ignored.length], [true, 1], query);
  }
});

test("matches by name come before matches by vocabulary", () => {
  const names = find(image, "pacemaker", "procedure").map(({ name }) => /pacemaker/i.test(name));
  assert.deepEqual(names.slice(0, 2), [true, true]);
  assert.equal(first("polyp", "procedure"), "5313");
});

test("what the data can't have is named once, with a reason and a URL", () => {
  for (const [query, name] of [
    ["MRI", /MRI/],
    ["resonancia magnetica", /MRI/],
    ["CT scan", /CT/],
    ["x-ray of the chest", /X-ray/],
    ["stitches", /Stitches/],
    ["doctor visit", /visit/],
    ["blood test", /laboratory/],
    ["giving birth", /Childbirth/],
    ["emergency room visit", /Emergency/],
    ["ambulance", /Ambulance/],
    ["dialysis", /Dialysis/],
    ["colonoscopy", /Colonoscopy/],
    ["flu shot", /Vaccination/],
    ...["colonoscopy in Houston", "colonoscopy, Z12.11", "colonoscopy with polypectomy"].map(
      (query) => [query, /Colonoscopy/] as const,
    ),
    ...["45378", "CPT 45378 near 60614", "colonoscopy 45378", "g0121", "knee replacement 45378"].map(
      (query) => [query, /Colonoscopy/] as const,
    ),
    ["43239", /Upper endoscopy/],
    ["70553 brain", /MRI/],
    ["99285", /Emergency/],
  ] as const) {
    const [{ name: said, reason, see }, ...others] = absentIn(query);
    assert.match(said, name, query);
    assert.ok(reason.length > 10 && URL.canParse(see), query);
    assert.equal(new Set(others.map((other) => other.name)).has(said), false, query);
  }
  for (const query of [
    ...["knee replacement", "pacemaker", "oil change", "hospital food"],
    ...["mastectmy", "vasectomy", "polypectomy", "arthroscpy", "hystorectomy"],
  ])
    assert.deepEqual(absentIn(query), [], query);
  assert.equal(first("colonoscopy", "procedure"), "5313");
});

test("why something is absent is said in at most two short sentences, in a patient's words", () => {
  const absents = allAbsentTerms.flatMap(({ absent }) => absent ?? []);
  for (const { name, reason } of absents) {
    assert.match(reason, /^[A-Z][^.]+\.( [A-Z][^.]+\.)?$/, name);
    assert.doesNotMatch(reason, /\b(APCs?|OPPS|comprehensive|fee schedule|physicians?)\b/, name);
    for (const sentence of reason.split(/(?<=\.) /)) assert.ok(sentence.split(" ").length <= 20, sentence);
  }
});

const casesSchema = v.array(
  v.object({ q: v.string(), type: v.picklist(["facility", "procedure"]), answers: v.array(v.string()) }),
);

const cases = v.parse(casesSchema, JSON.parse(readFileSync(dataPath("search/open.json"), "utf8")));
// CMS's outpatient file has no hospitals in Maryland.
const real = imageWith(realHospitals().filter(({ state }) => state !== "MD"));

test("the open half of the relevance set finds the right ones first, and scores show doubt", () => {
  const misses: string[] = [];
  const doubted: string[] = [];
  for (const { q, type, answers } of cases) {
    const [top] = find(real, q, type, 1);
    const isRight = top === undefined ? answers.includes("none") : answers.includes(top.code);
    if (!isRight) misses.push(`${q}: ${top?.name} ${top?.score}`);
    else if (top !== undefined && top.score < 0.5) doubted.push(q);
  }
  assert.deepEqual(misses, []);
  // Below 0.5 are guesses, and words with a typo or without a word such as hospital that several hospitals fit.
  assert.ok(doubted.length <= 0.09 * cases.length, doubted.join("; "));
});

/** Every so many of the queries of a file are compared, so that it takes little time. */
const queriesPerOne = { "facility-searches.tsv": 6, "procedure-searches.tsv": 8 };

function linesOf(file: keyof typeof queriesPerOne): string[] {
  const lines = readFileSync(dataPath(`search/${file}`), "utf8")
    .trimEnd()
    .split("\n");
  return lines.filter((_, i) => i % queriesPerOne[file] === 0).map((line) => line.split("\t")[0]);
}

/** What a search finds and understands, in one line. Lists that are empty, and what is null, are left out. */
function answerLine(image: Image, kind: DocumentKind, q: string, state: string | null): string {
  const { documents, scores, total, why, ...rest } = search(image, kind, q, 0, 3, state);
  const codes = kind === "facility" ? image.ccn : image.code;
  const found = Array.from(documents, (document, i) => `${textAt(codes, document)} ${scores[i]}`);
  const { ignored, place, alternative, absent, matched } = rest;
  const said = {
    ...{ ignored, place, alternative, absent: absent.map(({ name }) => name) },
    ...{ matched: matched.map((words) => words.join(" ")).filter((words) => words !== ""), ...why },
  };
  const told = Object.entries(said).filter(
    ([, value]) => value !== null && value !== undefined && value !== false && value?.toString() !== "",
  );
  const about = told.map(([key, value]) => `${key} ${JSON.stringify(value)}`);
  return [`${q}${state === null ? "" : ` (${state})`}: ${total}`, ...found, ...about].join("; ");
}

test("searches in people's own words are answered and understood as it was approved", () => {
  const hospitals = linesOf("facility-searches.tsv");
  const procedures = linesOf("procedure-searches.tsv");
  const asked: [DocumentKind, string, string | null][] = [
    ...cases.map(({ type, q }): [DocumentKind, string, null] => [type, q, null]),
    ...hospitals.map((q, i): [DocumentKind, string, string | null] => [
      "facility",
      q,
      i % 9 === 4 ? "OH" : null,
    ]),
    ...procedures.map((q, i): [DocumentKind, string, string | null] => [
      "procedure",
      // People add a place, or ask for a hospital where procedures are found.
      i % 6 === 1 ? `${q} in ${hospitals[i % hospitals.length]}` : q,
      i % 9 === 4 ? "OH" : null,
    ]),
    ...procedures
      .filter((_, i) => i % 5 === 2)
      .map((q): [DocumentKind, string, null] => ["facility", `${q} near Cleveland`, null]),
  ];
  const lines = asked.map(([kind, q, state]) => `${kind} ${answerLine(real, kind, q, state)}\n`);
  // Each of these is read in a way that few others are.
  for (const line of readFileSync(dataPath("search/rare.tsv"), "utf8").trimEnd().split("\n")) {
    const [kind, q] = line.split("\t");
    const cities = () =>
      `${q}: ${likelyCities(real, splitWords(q))
        .map(({ name }) => name)
        .join("; ")}`;
    const answer = () => answerLine(real, kind === "procedure" ? kind : "facility", q, null);
    lines.push(`${kind} ${kind === "city" ? cities() : answer()}\n`);
  }
  assertApproved("searches.txt", lines.join(""));
});
