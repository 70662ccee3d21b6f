import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { procedureFigures } from "../../datasets/sample/calibration.ts";
import { attachImage, buildImage, type Image, search, stateNames } from "../../engine/index.ts";
import { entriesOf } from "../../engine/search/lexicon.ts";
import { absentTerms, plainProcedure, plainWordsOf } from "../../engine/search/procedure-words.ts";
import { meaningOf, procedureWords, splitWords } from "../../engine/search/text.ts";
import { changed, imageOf, type ShortRow, snapshotOf } from "../support/fixtures.ts";
import { places } from "../support/places.ts";
import { seededRandom } from "../support/random.ts";
import {
  assertInOrder,
  find,
  type Hospital,
  named,
  namedProcedures,
  placed,
  realHospitals,
  snapshotOfHospitals,
} from "../support/relevance.ts";
import { sampled } from "../support/rounds.ts";

/** Tests the promises of the search interface, and how well searches find real hospitals. */

const names = (image: Image, query: string) => find(image, query).map(({ name }) => name);
const isFound = (name: string, query: string) => names(named(name), query).length === 1;

const hospitals = realHospitals();
const directory = imageOf(snapshotOfHospitals(hospitals));
const procedures = imageOf(namedProcedures());
const procedureCodes = (query: string) => find(procedures, query, "procedure").map(({ code }) => code);

type Check = (image: Image, hospitals: readonly Hospital[], t: TestContext) => void;

/** Runs with CMS's directory. */
function directoryTest(name: string, check: Check) {
  test(name, (t) => check(directory, hospitals, t));
}

directoryTest("a city with a state that it isn't in is never sure", (image, hospitals) => {
  const random = seededRandom(20_260_402);
  const states = [...new Set(hospitals.map(({ state }) => state))];
  const small = ["DE", "ID", "IN", "OR", "HI", "ME", "OK"];
  for (const [city, there] of sampled(Map.groupBy(hospitals, ({ city }) => city))) {
    const isOther = (state: string) => !there.some((hospital) => hospital.state === state);
    const [any, word] = [states, small].map((of) => random.pick(of.filter(isOther)));
    for (const query of [`${city}, ${any}`, `${city} ${word}`, `${city} hospital ${word.toLowerCase()}`]) {
      const [top] = find(image, query, "facility", 1);
      assert.ok(top === undefined || top.score < 0.5, `${query} found ${top?.name} ${top?.score}`);
    }
  }
});

directoryTest("a state's code that is a small word is the state after a city", (image, hospitals) => {
  const stateOf = new Map(hospitals.map(({ ccn, state }) => [ccn, state]));
  for (const { city, state } of hospitals.filter((each) => ["DE", "ID", "IN", "OR"].includes(each.state)))
    for (const query of [`${city} hospital ${state}`, `${city} ${state.toLowerCase()} hospitals`]) {
      const [top] = find(image, query, "facility", 1);
      assert.equal(stateOf.get(top?.code ?? ""), state, query);
      assert.ok(top.score >= 0.5, query);
    }
});

directoryTest("a number matches only whole words, ZIP codes and CCNs", (image, hospitals) => {
  const random = seededRandom(20_260_403);
  const known = new Set(hospitals.flatMap(({ ccn, zip = "", name }) => [ccn, zip, ...splitWords(name)]));
  for (let i = 0; i < 300; i++) {
    const { name, zip = "", ccn } = random.pick(hospitals);
    const stray = random.pick([zip, ccn]).slice(0, 1 + random.int(4));
    if (known.has(stray)) continue;
    for (const query of [stray, `hospital ${stray}`, `${name} ${stray}`]) {
      const [top] = find(image, query, "facility", 1);
      assert.ok(top === undefined || top.score < 0.5, `${query} found ${top?.name} ${top?.score}`);
    }
  }
});

directoryTest(
  "a procedure that the data can't have is named beside a hospital's whole name",
  (image, hospitals) => {
    const random = seededRandom(20_260_404);
    for (let i = 0; i < 150; i++) {
      const procedure = random.pick(["mri", "colonoscopy", "ct scan", "stitches", "x-ray", "mammogram"]);
      const query = `${random.pick(hospitals).name} ${procedure}`;
      const { absent, ignored, scores } = search(image, "facility", query, 0, 1);
      assert.ok(absent.length > 0, query);
      if (scores.length === 0) continue;
      assert.ok(scores[0] < 0.5, query);
      for (const word of splitWords(procedure)) assert.ok(ignored.includes(word), query);
    }
  },
);

directoryTest("each known abbreviation stands for a word in the hospital directory", (_, hospitals) => {
  const words = new Set(hospitals.flatMap(({ name }) => splitWords(name)));
  for (const { what, phrases } of [...entriesOf("form"), ...entriesOf("short")])
    assert.ok(
      [what, ...phrases].some((word) => words.has(word)),
      what,
    );
});

test("a short direction finds names with the long one", () => {
  const directions =
    "n north,s south,so south,e east,w west,ne northeast,nw northwest,nw northwestern,se southeast,sw southwest";
  for (const direction of directions.split(",")) {
    const [short, long] = direction.split(" ");
    assert.equal(find(named(`Grace ${long} Clinic`), `grace ${short} clinic`).length, 1, direction);
  }
});

test("a score is 0.5 and more where one facility is left, and below where many fit alike or words were dropped", () => {
  const image = placed(
    ["Grace University Hospital", "Tampa", "FL"],
    ["Quillbert Clinic", "Boise", "ID"],
    ["Quillbart Clinic", "Reno", "NV"],
    ["Zulu Clinic", "Myrtle Beach", "SC"],
  );
  const score = (query: string) => find(image, query, "facility", 1)[0].score;
  assert.ok(score("grace university hospital") > 0.9);
  for (const query of ["grce university", "gracee university hospital", "grac", "quillbrt boise"].slice(1))
    assert.ok(score(query) >= 0.5 && score(query) < 0.9, query);
  // The word with a typo means either clinic, a word is unknown, or the word fits three clinics.
  for (const query of ["quillbirt", "grace xylophone tampa", "clinic"]) assert.ok(score(query) < 0.5, query);
  assert.deepEqual(find(image, "xylophone university hospital"), []);
});

test("every term and official name finds its procedure group first, and terms of absent procedures find nothing", () => {
  const first = (query: string) => find(procedures, query, "procedure", 1)[0]?.code;
  const sameOf = (term: string) => procedureWords(term).toSorted().join(" ");
  const groups = Object.entries(plainWordsOf).flatMap(([code, { terms }]) =>
    terms.map((term) => ({ code, term, same: sameOf(term) })),
  );
  const codesOf = new Map(
    [...Map.groupBy(groups, ({ same }) => same)].map(([same, of]) => [same, of.map(({ code }) => code)]),
  );
  for (const { term, same } of sampled(groups, 3))
    assert.ok(codesOf.get(same)?.includes(first(term) ?? ""), term);
  for (const { code, name } of procedureFigures) assert.equal(first(name), code, name);
  const officialWords = new Set(procedureFigures.flatMap(({ name }) => procedureWords(name)));
  for (const term of absentTerms) {
    assert.ok(!codesOf.has(sameOf(term)), term);
    if (!procedureWords(term).every((word) => officialWords.has(word)))
      assert.equal(first(term), undefined, term);
  }
});

test("the longest known term in a query decides whether a procedure group is found", () => {
  for (const query of [
    "kidney removal",
    "remove my kidney",
    "brain surgery",
    "kidney ultrasound",
    "hip fracture",
  ])
    assert.deepEqual(procedureCodes(query), [], query);
  assert.deepEqual(procedureCodes("kidney stone removal").slice(0, 3).toSorted(), ["5374", "5375", "5376"]);
  assert.equal(procedureCodes("deep brain stimulation surgery")[0], "5465");
  for (const [one, several] of [
    ["hip", "hips"],
    ["eye", "eyes"],
    ["ear", "ears"],
  ])
    assert.deepEqual(new Set(procedureCodes(several)), new Set(procedureCodes(one)), several);
});

test("a body part with only a word for drugs, visits or pain finds no procedure", () => {
  for (const query of ["heart medication", "pain in my back", "eye doctor"])
    assert.deepEqual(procedureCodes(query), [], query);
  for (const [query, code] of [
    ["my doctor wants gallbladder surgery", "5361"],
    ["pacemaker and heart medication", "5223"],
    ["chest pain", "8011"],
  ])
    assert.equal(procedureCodes(query)[0], code, query);
});

test("a longer term of a procedure group takes precedence over an absent procedure's term inside it", () => {
  assert.equal(procedureCodes("lung nodule CT guided biopsy")[0], "5072");
  assert.deepEqual(procedureCodes("lung nodule CT"), []);
});

test("words of several terms of a group find it with a score of 0.5 or more, and words of other groups below 0.5", () => {
  const [together] = find(procedures, "pectus coccyx", "procedure");
  assert.equal(together.code, "5113");
  assert.ok(together.score >= 0.5);
  for (const query of ["double mastectomy with expanders", "tissue expander xylophone"])
    assert.ok(find(procedures, query, "procedure")[0].score < 0.5, query);
});

test("a few unknown non-medical words beside a term are ignored and lower the score", () => {
  const first = (query: string) => find(procedures, query, "procedure", 1)[0];
  for (const [query, code] of [
    ["tissue expander xylophone", "5094"],
    ["tissue expandr xylophone", "5094"],
    ["tissue expander breast xylophone zither", "5094"],
    ["xylophone cataracts", "5491"],
    ["xylophone coclear implant deaf", "5166"],
  ]) {
    assert.equal(first(query)?.code, code, query);
    const known = query.replaceAll(/xylophone|zither/g, "");
    assert.ok(first(query).score < 0.8 * first(known).score, query);
  }
  for (const query of [
    "hernia xylophone",
    "tissue expander xylophone zither quill gazebo",
    "tissue expander xylophonectomy",
    "tissue expander mri",
  ])
    assert.deepEqual(find(procedures, query, "procedure"), [], query);
});

test("words for the place or the patient don't change which procedure groups are found", () => {
  const plain = procedureCodes("chest tube");
  assert.equal(plain[0], "5182");
  for (const query of [
    "chest tube in the ER",
    "emergency chest tube for my husband",
    "chest tube under anesthesia",
  ])
    assert.deepEqual(procedureCodes(query), plain, query);
});

test("the plural of a known word finds the same groups as its singular", () => {
  assert.deepEqual(procedureCodes("stimulator leads"), procedureCodes("stimulator lead"));
});

/** Invented hospitals show hard cases in names and cities of real hospitals. */
describe("first result for a query", () => {
  const image = placed(
    ["Larkspur Univ Med Ctr", "Amber Falls", "TX"],
    ["Larkspur University Medical Center- Flintbend", "Flint Bend", "TX"],
    ["Quillcare Orlo", "Orlo", "FL"],
    ["Lac/Bay-Kwpq Hosp & Trauma Ctr", "Bay City", "CA"],
    ["University Of Texas Q V Underhill Cancer Center,the", "Houston", "TX"],
    ["St Aldric's Hlth System", "La Junta", "CO"],
    ["Washington Hospital", "Fremont", "OH"],
    ["Merit Clinic", "Washington", "DC"],
    ["Nevada Regional", "Joplin", "MO"],
    ["Sage Clinic", "Elko", "NV"],
    ["O.D.E.O.N. Hospital", "New York", "NY"],
    ["Thistle Clinic", "Kansas City", "MO"],
    ["Wheat Clinic", "Wichita", "KS"],
  );
  for (const [query, name] of [
    ["larkspur university medical center", "Larkspur Univ Med Ctr"],
    ["larkspur univ med ctr flintbend", "Larkspur University Medical Center- Flintbend"],
    ["larkspur university medical center flint bend", "Larkspur University Medical Center- Flintbend"],
    ["quill care orlo", "Quillcare Orlo"],
    ["bay kwpq", "Lac/Bay-Kwpq Hosp & Trauma Ctr"],
    ["baykwpq hospital and trauma center", "Lac/Bay-Kwpq Hosp & Trauma Ctr"],
    ["k.w.p.q. bay", "Lac/Bay-Kwpq Hosp & Trauma Ctr"],
    ["qv underhill", "University Of Texas Q V Underhill Cancer Center,the"],
    ["q.v. underhill cancer center", "University Of Texas Q V Underhill Cancer Center,the"],
    ["qvunderhill", "University Of Texas Q V Underhill Cancer Center,the"],
    ["underhill hospital in houston", "University Of Texas Q V Underhill Cancer Center,the"],
    ["saint aldric s health system", "St Aldric's Hlth System"],
    ["hospital lajunta", "St Aldric's Hlth System"],
    ["D.C.", "Merit Clinic"],
    ["washington d c", "Merit Clinic"],
    ["washington hospital", "Washington Hospital"],
    ["washington", "Merit Clinic"],
    ["hospitals in nevada", "Sage Clinic"],
    ["hospitals in kansas", "Wheat Clinic"],
    ["kansascity", "Thistle Clinic"],
    ["odeon", "O.D.E.O.N. Hospital"],
    ["hospital new york city", "O.D.E.O.N. Hospital"],
    ["nyc", "O.D.E.O.N. Hospital"],
    ["ccn 000004", "Lac/Bay-Kwpq Hosp & Trauma Ctr"],
    ["00004", "Lac/Bay-Kwpq Hosp & Trauma Ctr"],
  ] as const)
    test(`${query} → ${name}`, () => assert.equal(names(image, query)[0], name));
});

directoryTest(
  "every real hospital is the first result for its CCN and for its name with city and state",
  (image, hospitals) => {
    const wholeName = ({ name, city, state }: Hospital) => `${name} ${city} ${state}`;
    const nameOf = new Map(hospitals.map((hospital) => [hospital.ccn, wholeName(hospital)]));
    for (const hospital of sampled(hospitals)) {
      assert.equal(find(image, hospital.ccn, "facility", 1)[0]?.code, hospital.ccn);
      const [first] = find(image, wholeName(hospital), "facility", 1);
      assert.equal(nameOf.get(first?.code), wholeName(hospital));
    }
  },
);

directoryTest(
  "each alternative name finds its hospital first, is unique and isn't another's official name",
  (image, hospitals) => {
    const officialNames = new Map(
      hospitals.map(({ ccn, name }) => [splitWords(name).map(meaningOf).join(" "), ccn]),
    );
    const all = entriesOf("hospital").flatMap(({ what, phrases }) =>
      phrases.map((name) => ({ ccn: what, name })),
    );
    assert.ok(all.length > 1000);
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { ccn, name } of sampled(all, 3)) {
      assert.equal(find(image, name, "facility", 1)[0]?.code, ccn, name);
      const official = officialNames.get(splitWords(name).map(meaningOf).join(" "));
      assert.ok(official === undefined || official === ccn, `${name} is the name of ${official}`);
    }
  },
);

directoryTest("a health system's name with a city finds its hospitals there first", (image, hospitals) => {
  const byCcn = new Map(hospitals.map((hospital) => [hospital.ccn, hospital]));
  for (const { what, phrases } of entriesOf("system"))
    for (const ccn of what.split(" ")) {
      const [name] = phrases;
      const ccns = what.split(" ");
      const hospital = byCcn.get(ccn);
      assert.ok(hospital, `${name}: ${ccn}`);
      const [first] = find(image, `${name} ${hospital.city} ${hospital.state}`, "facility", 1);
      assert.ok(byCcn.get(first?.code)?.city.endsWith(hospital.city), `${name} ${hospital.city}`);
      assert.ok(
        ccns.includes(first.code) || first.name.toLowerCase().includes(name.split(" ")[0]),
        first.name,
      );
    }
  for (const [query, ccn] of [
    ["Intermountain Salt Lake", "460006"],
    ["intermountain health salt lake city", "460006"],
    ["intermountain provo", "460001"],
  ])
    assert.equal(find(image, query, "facility", 1)[0]?.code, ccn, query);
});

directoryTest("a word with a typo doesn't match words that occur only in alternative names", (image) => {
  for (const query of ["mcdonalds", "mcdonalds near me", "umihc"])
    assert.deepEqual(find(image, query), [], query);
  for (const query of ["macdonald womens", "umich"]) assert.equal(find(image, query).length > 0, true, query);
});

directoryTest(
  "every word of the directory has results for prefixes from three letters and for one wrong letter",
  (image, hospitals) => {
    const random = seededRandom(11);
    const words = new Set(hospitals.flatMap(({ name, city }) => splitWords(`${name} ${city}`)));
    for (const word of sampled(words)) {
      for (let letters = 3; letters <= word.length; letters++) {
        const start = word.slice(0, letters);
        assert.ok(search(image, "facility", start, 0, 1).total > 0, `${start} of ${word}`);
      }
      if (!/^[a-z]{5,8}$/.test(word)) continue;
      const at = 1 + random.int(word.length - 1);
      const wrong = `${word.slice(0, at)}${random.pick([..."abcdefghijklmnopqrstuvwxyz"])}${word.slice(at + 1)}`;
      assert.ok(search(image, "facility", wrong, 0, 1).total > 0, `${wrong} for ${word}`);
    }
  },
);

test("the initials of a name find the hospital if few hospitals share them", () => {
  const image = placed(
    ["Amber Bay Orlo Medical Center", "Tampa", "FL"],
    ["Clinic of the Quill", "Tampa", "FL"],
    ...Array.from({ length: 4 }, (): [string, string, string] => ["Zed Yellow Xenon", "Reno", "NV"]),
  );
  assert.deepEqual(names(image, "abomc"), ["Amber Bay Orlo Medical Center"]);
  assert.deepEqual(names(image, "abomc tampa"), ["Amber Bay Orlo Medical Center"]);
  assert.deepEqual(names(image, "cotq"), ["Clinic of the Quill"]);
  assert.deepEqual(names(image, "zyx"), []);
});

test("the name of a state without hospitals doesn't match its code inside a hospital's name", () => {
  const image = placed(["M. D. Rivers Medical Center", "Houston", "TX"], ["Mercy Hospital", "Bangor", "ME"]);
  assert.deepEqual(names(image, "maryland medical center"), []);
  assert.deepEqual(names(image, "md rivers"), ["M. D. Rivers Medical Center"]);
  for (const query of ["MD", "hospitals in MD", "hospital md"]) {
    const { absent, scores } = search(image, "facility", query, 0, 1);
    assert.deepEqual([absent[0].name, scores[0] >= 0.5], ["Hospitals in Maryland", false], query);
  }
});

test("an unknown word is ignored if the other words identify one hospital and its place", () => {
  const image = placed(["Grace Foundation", "Tampa", "FL"], ["Grace Clinic", "Boise", "ID"]);
  assert.deepEqual(names(image, "grace xylophone tampa"), ["Grace Foundation"]);
  const score = (query: string) => find(image, query, "facility", 1)[0].score;
  assert.ok(score("grace xylophone tampa") < score("grace tampa"));
  for (const query of ["grace xylophone", "xylophone tampa", "clinic xylophone tampa"])
    assert.deepEqual(names(image, query), [], query);
});

test("a medical word matches with a missing letter or another vowel, but not with another consonant", () => {
  const image = imageOf(
    changed(snapshotOf([["000001", "CA", "5092", 1, 1]]), ({ procedures }) => {
      procedures.name[0] = "Mastectomy and Colonoscopy";
    }),
  );
  for (const query of [
    ...["mastectomy", "mastectmy", "mastectomi", "masectomy", "masstectomy", "mistectomy"],
    ...["colonoscpy", "colonoscop", "collonoscopy"],
  ])
    assert.equal(find(image, query, "procedure").length, 1, query);
  for (const query of ["vasectomy", "cystectomy", "gastrectomy", "lastectomy", "maspectomy", "colposcopy"])
    assert.deepEqual(find(image, query, "procedure"), [], query);
});

describe("words", () => {
  test("every word has to match, except a word for the kind of facility, such as clinic", () => {
    const image = placed(["Grace Hospital", "Tampa", "FL"], ["Grace Clinic", "Boise", "ID"]);
    assert.deepEqual(names(image, "grace"), ["Grace Clinic", "Grace Hospital"]);
    assert.deepEqual(names(image, "grace tampa"), ["Grace Hospital"]);
    assert.deepEqual(names(image, "tampa grace"), ["Grace Hospital"]);
    assert.deepEqual(names(image, "grace tampa boise"), []);
    assert.deepEqual(names(image, "grace tampa clinic"), ["Grace Hospital"]);
    for (const query of ["grace medical center", "grace health system"])
      assert.deepEqual(names(image, query).sort(), ["Grace Clinic", "Grace Hospital"], query);
    assert.deepEqual(names(image, "grace clinic"), ["Grace Clinic", "Grace Hospital"]);
    assert.deepEqual(names(image, "clinic"), ["Grace Clinic"]);
    assert.deepEqual(names(image, "hospital"), ["Grace Hospital", "Grace Clinic"]);
    assert.deepEqual(names(image, "grace xylophone"), []);
  });

  test("a word may match the name, the city, the state's code or its name", () => {
    const image = placed(["Grace Hospital", "Concord", "NH"], ["Mercy Hospital", "Bangor", "ME"]);
    for (const query of ["grace", "concord", "nh", "NH", "new hampshire", "hampshire", "concord nh grace"])
      assert.deepEqual(names(image, query), ["Grace Hospital"], query);
    for (const query of ["mercy", "bangor", "me mercy", "maine"])
      assert.deepEqual(names(image, query), ["Mercy Hospital"], query);
    assert.deepEqual(names(image, "concord maine"), []);
  });

  test("every state is found by its code and by its name", () => {
    const all = Object.entries(stateNames);
    const image = placed(
      ...all.map(([code]): [string, string, string] => [`Qqq ${code}qqqq`, "Xqzxqz", code]),
    );
    for (const [code, name] of all)
      for (const query of [code, code.toLowerCase(), name, name.toUpperCase()])
        assert.ok(names(image, query).includes(`Qqq ${code}qqqq`), query);
  });

  test("a facility in Springfield, Illinois comes before a Springfield elsewhere and an Illinois elsewhere", () => {
    const image = placed(
      ["Springfield Hospital", "Springfield", "VT"],
      ["Springfield Illumination Clinic", "Springfield", "VT"],
      ["Illinois Hospital", "Springfield", "OH"],
      ["Zulu Memorial Medical Center", "Springfield", "IL"],
    );
    const found = names(image, "springfield il");
    assert.equal(found[0], "Zulu Memorial Medical Center");
    // The letters IL begin no word.
    assert.deepEqual(found.slice(1), ["Illinois Hospital"]);
    assert.deepEqual(names(image, "memorial springfield il"), ["Zulu Memorial Medical Center"]);
  });

  test("a city named twice is taken as the place, and in before a city isn't read as Indiana", () => {
    const image = placed(
      ["Tampa Hospital", "Orlando", "FL"],
      ["Tampa Hospital", "Tampa", "FL"],
      ["Tampa Hospital", "Gary", "IN"],
    );
    const firstOf = (query: string) => search(image, "facility", query, 0, 1).documents[0];
    for (const query of ["tampa hospital in tampa", "tampa hospital tampa", "hospital in tampa"])
      assert.equal(firstOf(query), 1, query);
    assert.equal(firstOf("tampa hospital in"), 2);
  });

  test("a city followed by its state ranks hospitals in that city first", () => {
    const image = placed(
      ["Orlo City Hospital", "Kansas", "MO"],
      ["Zulu", "Orlo City", "KS"],
      ["Orlo City Clinic", "Quill", "KS"],
    );
    for (const query of ["orlo city, ks", "orlo city kansas"])
      assert.equal(names(image, query)[0], "Zulu", query);
    assert.equal(names(image, "orlo city hospital")[0], "Orlo City Hospital");
  });

  test("initials such as UC find a university's full name, and the full name finds its initials", () => {
    const image = named("Uva Zulu", "University Of California Zulu");
    assert.equal(names(image, "university of virginia zulu")[0], "Uva Zulu");
    assert.equal(names(image, "uc zulu")[0], "University Of California Zulu");
  });

  test("case, accents and punctuation do not matter", () => {
    const name = "Hôpital Saint-Étienne (L'Hôtel-Dieu), Inc.";
    for (const query of [
      "HÔPITAL SAINT-ÉTIENNE",
      "hopital saint etienne",
      "Ho\u0302pital St. E\u0301tienne",
      "hopital, saint; etienne!",
      "\"hopital\" 'saint' ‘etienne’ “inc”",
      "lhotel dieu",
      "l’hôtel–dieu",
      "hopital/etienne",
    ])
      assert.ok(isFound(name, query), query);
    assert.deepEqual(find(named(name), "HÔPITAL ÉTIENNE"), find(named(name), "hopital etienne"));
    assert.ok(isFound("Hopital Etienne", "Hôpital Étienne"));
    assert.ok(isFound("İstanbul Clinic", "istanbul"));
    assert.ok(isFound("日本語病院", "日本語病院"));
    // In Unicode, the letters Ø, Ł and ß have no decomposition into a base letter and a mark.
    for (const [name, query] of [
      ["Nørgaard Clinic", "norgaard"],
      ["Norgaard Clinic", "NØRGAARD"],
      ["Łódź Straße Clinic", "lodz strasse"],
      ["Sørensen Clinic", "sorenson"],
    ])
      assert.ok(isFound(name, query), query);
  });

  test("St and Saint, Mt and Mount, Hosp and Hospital, Ctr and Center, & and and are the same word", () => {
    const pairs = [
      ["St", "Saint"],
      ["Mt", "Mount"],
      ["Hosp", "Hospital"],
      ["Ctr", "Center"],
      ["&", "and"],
    ];
    for (const [short, long] of pairs) {
      const image = named(`Qwerty ${short} Zulu`, `Qwerty ${long} Zulu`);
      for (const written of [short, long, short.toLowerCase(), long.toUpperCase()]) {
        const found = find(image, `qwerty ${written} zulu`);
        assert.equal(found.length, 2, `${written} for ${short} and ${long}`);
        // Of the same name, the one that is spelt as asked comes first.
        const isFirst = found[0].name.toLowerCase().includes(written.toLowerCase());
        assert.ok(isFirst || found[0].score === found[1].score, written);
      }
    }
    assert.ok(isFound("Scott & White", "scott&white"));
    assert.ok(isFound("Scott&White", "scott and white"));
    assert.ok(isFound("St. Luke's Hosp.", "saint lukes hospital"));
  });

  test("synonyms match whole words only, so saint doesn't find Streeter", () => {
    const image = named("Streeter Clinic", "Mountain Clinic", "Hospice Clinic");
    assert.deepEqual(names(image, "saint clinic"), []);
    assert.deepEqual(names(image, "hospital hospice"), ["Hospice Clinic"]);
    assert.deepEqual(names(image, "streeter hospice"), []);
    assert.deepEqual(names(image, "mount clinic"), ["Mountain Clinic"]);
  });
});

describe("prefixes and typos", () => {
  test("the start of a word matches it from the third letter on, and its middle and end don't", () => {
    for (const query of ["mai", "maimon", "maimonide", "maimonides", "med maim", "maimonides cen"])
      assert.ok(isFound("Maimonides Medical Center", query), query);
    for (const query of ["m", "ma", "maimonides c", "onides", "monides", "ides", "ter", "dical"])
      assert.ok(!isFound("Maimonides Medical Center", query), query);
  });

  test("a word of up to four letters doesn't match with a typo", () => {
    for (const query of ["yals", "ylae", "xale", "aley"]) assert.ok(!isFound("Yale", query), query);
    for (const query of ["dom", "dno", "dn"]) assert.ok(!isFound("Don", query), query);
  });

  test("a word of five letters matches with one typo and not with two", () => {
    for (const query of ["gredy", "xrady", "gradx", "rgady", "gardy", "grayd"])
      assert.ok(isFound("Grady", query), query);
    for (const query of ["grxxy", "xradx", "rgayd", "ydarg", "dyrga"])
      assert.ok(!isFound("Grady", query), query);
  });

  test("a word of nine letters matches with two typos and not with three", () => {
    for (const query of ["lxncaster", "lxncxster", "xancastex", "alncastre", "lnacasetr", "lanxxster"])
      assert.ok(isFound("Lancaster", query), query);
    for (const query of ["lxncxstxr", "lxxxaster", "alncastxx", "alncsatre"])
      assert.ok(!isFound("Lancaster", query), query);
  });

  test("each word of a query may have typos, also in city and state names", () => {
    const image = placed(["Presbyterian Hospital", "Albuquerque", "NM"]);
    assert.equal(names(image, "presbitarian hospitla albuqerqe mexcio").length, 1);
    assert.equal(names(image, "presbitarian hospitla mxecio").length, 0);
  });

  test("a letter of any script counts as one letter when typos are counted", () => {
    for (const query of ["дып", "доп", "дам"]) assert.ok(!isFound("Дом", query), `${query}, three letters`);
    assert.ok(isFound("日本語病院", "日本語病医"), "five letters, one typo");
    assert.ok(!isFound("日本語病院", "日本語医医"), "five letters, two typos");
  });

  test("exact matches come before prefix matches, and prefix matches before typos", () => {
    const image = named("Grave", "Gracewood", "Grace");
    assert.deepEqual(names(image, "grace"), ["Grace", "Gracewood", "Grave"]);
    const scores = find(image, "grace").map(({ score }) => score);
    assert.ok(scores[0] > scores[1] && scores[1] > scores[2], scores.join());
  });

  test("scores have three decimals, and the better a name is matched, the higher they are", () => {
    const queries = ["grace one two three", "grace one two", "grace", "grac", "grase"];
    const scores = queries.map((query) => find(named("Grace One Two Three"), query)[0].score);
    for (const score of scores) assert.match(String(score), /^0\.\d{1,3}$/);
    assert.deepEqual(
      scores.toSorted((a, b) => b - a),
      scores,
    );
    assert.equal(new Set(scores).size, scores.length);
  });

  test("two exact words come before one exact and one prefix match, and these before a typo", () => {
    const image = named("Mercy Generel", "Mercy Generalist", "Mercy General");
    assert.deepEqual(names(image, "mercy general"), ["Mercy General", "Mercy Generalist", "Mercy Generel"]);
  });
});

describe("ties and codes", () => {
  test("equal scores are ordered by name, then CCN", () => {
    const image = named("Mercy Bravo", "Mercy Alpha", "Mercy Bravo", "Mercy Alpha");
    const found = find(image, "mercy");
    assert.deepEqual(
      found.map(({ name, code }) => `${name} ${code}`),
      ["Mercy Alpha 000002", "Mercy Alpha 000004", "Mercy Bravo 000001", "Mercy Bravo 000003"],
    );
    assertInOrder(found, "mercy");
  });

  test("an exact CCN comes before hospitals with that number in their name", () => {
    const image = imageOf(
      snapshotOf([
        ["000001", "CA", "5072", 1, 1, "050625"],
        ["000002", "CA", "5072", 1, 1, "050625 Clinic"],
        ["050625", "CA", "5072", 1, 1, "Zulu Hospital"],
        ["05B001", "CA", "5072", 1, 1, "Yankee Hospital"],
      ]),
    );
    assert.deepEqual(
      find(image, "050625").map(({ code }) => code),
      ["050625", "000001", "000002"],
    );
    assert.deepEqual(find(image, "05b001")[0]?.code, "05B001");
    assert.deepEqual(find(image, " (050625) ")[0]?.code, "050625");
  });

  test("a CCN is matched as a whole: no prefix, no typo", () => {
    const image = named("Zulu Hospital");
    assert.equal(names(image, "000001").length, 1);
    for (const query of ["00000", "0000", "000002", "0000011", "000010"])
      assert.deepEqual(names(image, query), [], query);
  });

  test("five digits match a CCN without its leading zero only if nothing else contains them", () => {
    const image = named("Zulu Hospital", "00001 Clinic", "Yankee Hospital");
    assert.equal(names(image, "00003")[0], "Yankee Hospital");
    assert.deepEqual(names(image, "00001"), ["00001 Clinic"]);
  });

  test("procedures are found by name, and by APC code first", () => {
    const rows: ShortRow[] = [
      ["000001", "CA", "5072", 1, 1, "Level Hospital"],
      ["000001", "CA", "5073", 1, 1],
      ["000001", "CA", "5115", 1, 1],
    ];
    const image = imageOf(snapshotOf(rows));
    const codes = (query: string) => find(image, query, "procedure").map(({ code }) => code);
    assert.deepEqual(codes("level"), ["5072", "5073", "5115"]);
    assert.deepEqual(codes("LEVEL 3"), ["5073"]);
    assert.equal(codes("5115")[0], "5115");
    for (const query of ["hospital", "california", "000001", "5116"])
      assert.deepEqual(codes(query), [], query);
    assert.deepEqual(names(image, "5115"), []);
    assert.deepEqual(
      find(image, "level").map(({ name }) => name),
      ["Level Hospital"],
    );
  });
});

describe("ZIP codes in queries", () => {
  const content = snapshotOf([
    ["050625", "CA", "5072", 1, 1, "Cedars Hospital"],
    ["220001", "MA", "5072", 1, 1, "Back Bay Hospital"],
    ["220002", "MA", "5072", 1, 1, "Harbor Hospital"],
    ["010001", "AL", "5072", 1, 1, "Nowhere Hospital"],
  ]);
  const zips: Record<string, string> = { "050625": "90048", "220001": "02114", "220002": "02115" };
  const image = imageOf(
    changed(content, ({ facilities }) => {
      facilities.zip = facilities.ccn.map((ccn) => zips[ccn] ?? "");
    }),
  );

  test("a ZIP code finds its facilities, alone and with other words", () => {
    for (const query of ["90048", "90048-1804", "cedars 90048", "hospital in 90048", "ca 90048"])
      assert.deepEqual(names(image, query), ["Cedars Hospital"], query);
    assert.deepEqual(names(image, "02114"), ["Back Bay Hospital"]);
  });

  test("a ZIP code is found by no other number, and not by its first digits", () => {
    for (const query of ["021", "90049", "2114", "cedars 02114"])
      assert.deepEqual(names(image, query), [], query);
  });

  test("a known ZIP code isn't read as a CCN without its leading zero", () => {
    const both = snapshotOf([
      ["050625", "CA", "5072", 1, 1, "Z by CCN"],
      ["060001", "CO", "5072", 1, 1, "A by ZIP"],
    ]);
    const placed = changed(both, ({ facilities }) => {
      facilities.zip = facilities.ccn.map((ccn) => (ccn === "060001" ? "50625" : ""));
    });
    const found = imageOf(placed);
    assert.deepEqual(names(found, "50625"), ["A by ZIP"]);
    assert.deepEqual(names(imageOf(both), "50625"), ["Z by CCN"]);
  });
});

test("a group lists the words that found it, also if the next group's name has them", () => {
  const rows = ["5115", "5116"].map((code): ShortRow => ["000001", "CA", code, 1, 1]);
  const image = imageOf(
    changed(snapshotOf(rows), ({ procedures }) => {
      procedures.name = ["Large Joints", "Knee Joints"];
    }),
  );
  const { documents, matched } = search(image, "procedure", "knee", 0, 9);
  assert.deepEqual(
    Array.from(documents, (group, i) => [image.codes[group], ...matched[i]]),
    [["5115", "knee"], ["5116"]],
  );
});

describe("searches near a place", () => {
  const rows: ShortRow[] = [
    ["000001", "MA", "5072", 1, 1, "Grace Hospital"],
    ["000002", "MA", "5072", 1, 1, "Grace Clinic"],
    ["000003", "MA", "5072", 1, 1, "Mercy Hospital"],
    ["000004", "IL", "5072", 1, 1, "Grace Hospital"],
  ];
  const snapshot = changed(snapshotOf(rows), ({ facilities }) => {
    for (const [i, [city, zip]] of [
      ["Boston", "02115"],
      ["Worcester", "01605"],
      ["Springfield", "01103"],
      ["Springfield", "62702"],
    ].entries()) {
      facilities.city[i] = city;
      facilities.zip[i] = zip;
    }
  });
  const image = attachImage(buildImage(snapshot, undefined, places));
  const ccns = (query: string) => find(image, query).map(({ code }) => code);

  test("a search near a ZIP code or city lists hospitals within 50 miles, the nearest first", () => {
    assert.deepEqual(ccns("hospitals near 02120"), ["000001", "000002"]);
    assert.deepEqual(ccns("emergency room close to worcester"), ["000002", "000001", "000003"]);
    assert.deepEqual(ccns("hospitals near springfield ma"), ["000003", "000002"]);
    assert.deepEqual(ccns("grace near 01605-1234"), ["000002", "000001"]);
  });

  test("a city with several ZIP codes is in their middle", () => {
    const names = ["Grace Hospital of Massachusetts", "Mercy Clinic", "Grace Hospital"];
    const apart = changed(snapshotOf(rows.slice(0, 3)), ({ facilities }) => {
      facilities.name = names;
      facilities.city = ["Boston", "Worcester", "Boston"];
      facilities.zip = ["02136", "01605", "02115"];
    });
    const image = attachImage(buildImage(apart, undefined, places));
    const [first] = find(image, "hospitals near boston");
    assert.deepEqual([first.code, first.name], ["000003", "Grace Hospital"]);
  });

  test("a search near an unknown place or one in several states is an ordinary search", () => {
    assert.deepEqual(ccns("hospitals near springfield").toSorted(), ["000003", "000004"]);
    assert.deepEqual(ccns("grace near 99999"), []);
  });
});

test("each procedure group of CMS has a title that fits into a sentence, further words and a part of the body", () => {
  const codes = procedureFigures.map(({ code }) => code);
  const all = codes.map((code) => plainProcedure(code) ?? assert.fail(`${code} has no title`));
  assert.equal(new Set(all.map(({ title }) => title)).size, codes.length);
  for (const { title, part, words } of all) {
    assert.ok(title.length <= 60 && words.length > 10 && part !== "", title);
    assert.match(title, /^([a-z]|ERCP)/);
  }
});
