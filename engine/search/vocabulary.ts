import { linesOf, paragraphsOf } from "./data.ts";

/** Long form → its other forms in CMS's directory, also cut forms and misspellings. The index has the long form. */
const shortFormsOf: Readonly<Record<string, string>> = {
  association: "assoc assn",
  authority: "auth",
  baptist: "bapt",
  beach: "bch",
  behavioral: "behav behavioural",
  cambridge: "camb",
  catholic: "cath",
  center: "ctr cntr cent cente centers centre",
  childrens: "childs children child",
  clinic: "clinics",
  colorado: "colo",
  community: "comm",
  comprehensive: "compr",
  county: "cnty",
  diagnostic: "diagnostics diag",
  district: "dist",
  fort: "ft",
  foundation: "fdn fndtn",
  general: "gen genl",
  health: "hlth healh",
  healthcare: "hlthcr hlthcare",
  heart: "hrt",
  hospital: "hosp hospi hospit hospitals hosps",
  institute: "inst",
  lutheran: "luth",
  medical: "med medi",
  memorial: "mem meml",
  methodist: "meth",
  mount: "mt",
  mountain: "mtn",
  national: "natl",
  network: "ntwk",
  orthopedic: "orthopaedic orthopedics orthopaedics",
  presbyterian: "presb",
  providence: "prov",
  regional: "reg regl region",
  rehabilitation: "rehab",
  research: "rsch",
  saint: "st ste sainte saints",
  science: "sci sciences",
  service: "svc svcs services",
  surgical: "surg",
  system: "sys systems",
  university: "univ",
  valley: "vly",
  womens: "women woman womans",
};

/** Short forms in names of hospitals and places → long forms. */
export const abbreviations: ReadonlyMap<string, string> = new Map(
  Object.entries(shortFormsOf).flatMap(([long, short]) => short.split(" ").map((form) => [form, long])),
);

/** Short forms that may mean something else. A short form and its long form match each other like a prefix. */
export const ambiguousForms: readonly (readonly [short: string, long: string])[] = [
  ["co", "company"],
  ["co", "county"],
  ["dr", "doctors"],
  ["drs", "doctors"],
  ["e", "east"],
  ["joe", "joseph"],
  ["joes", "joseph"],
  ["joes", "josephs"],
  ["pat", "patrick"],
  ["pats", "patrick"],
  ["n", "north"],
  ["ne", "northeast"],
  ["nw", "northwest"],
  ["nw", "northwestern"],
  ["pt", "point"],
  ["s", "south"],
  ["se", "southeast"],
  ["so", "south"],
  ["sw", "southwest"],
  ["w", "west"],
];

export const setOf = (words: string) => new Set(words.split(" "));

/** Parts of states' names that are also parts of many other names. */
export const directions: ReadonlySet<string> = setOf("north south west new");

/** Words that are half a state's name and say nothing about the state alone: a north or an island is anywhere. */
export const sharedStateWords: ReadonlySet<string> = setOf(
  "north south west new york island islands virginia columbia district of american samoa northern",
);

/** Words that a place may follow. */
export const placeWords: ReadonlySet<string> = setOf("around in near");

/** Words that are also names of cities. Alone beside a procedure they may mean anything. */
export const wordLikeCities: ReadonlySet<string> = setOf(
  "alliance bath beaver bend brick butler canadian caribou commerce converse corning corona crown defiance eden enterprise " +
    "flint flushing gardner grove hazard hope humble hurst independence indiana liberal liberty lima media mission " +
    "mobile moody normal orange page parks peru plantation price racine reading sandy sparks spring star sterling sulphur " +
    "summit supply surprise temple transfer trinity troy union upland valley winder winner zion",
);

/** Words before a "me" that means the person who asks. */
export const wordsBeforeSelf: ReadonlySet<string> = setOf(
  "near nearest around by to beside show tell tells told give gave find list help get let send sends sent take takes took taking " +
    "bring brought drive drove charge charged bill billed treat treated refer referred transfer transferred for with",
);

const phrasesOf = (file: string) =>
  linesOf(file)
    .join(" ")
    .split(", ")
    .map((phrase) => phrase.split(" "));

const [neverMeant, seldomMeant] = paragraphsOf("questions.txt").map(
  (paragraph) => new Set(paragraph.split(/\s+/)),
);
/** Words of questions and sentences that say nothing about which hospital is meant. */
export const questionWords: ReadonlySet<string> = neverMeant;
/** Such words that are also words of hospitals' names. They say nothing where no hospital matches with them. */
export const seldomMeantWords: ReadonlySet<string> = seldomMeant;

/** Departments of hospitals, as words. They say nothing about which hospital is meant, unless its name has them. */
export const departments: readonly (readonly string[])[] = phrasesOf("departments.txt");

/** Regions that no field of a hospital has. */
export const regions: ReadonlySet<string> = new Set(linesOf("regions.txt"));

/** Words without meaning in a query. They are never needed, except a state's code at the end, such as `in` and `or`. */
export const fillerWords: ReadonlySet<string> = setOf(
  "a an and at by for from in near of on or the to with apc ccn inc llc llp lp pllc cpt hcpcs corp code codes",
);

/** Generic words aren't needed beside other words, but they improve the score. */
export const genericWords = {
  facility: setOf(
    "hospital medical center health healthcare system clinic institute network service facility authority campus " +
      "main best cheapest nearest closest close nearby emergency er room rooms",
  ),
  procedure: setOf(
    "surgery operation procedure procedures cost costs price prices charge charges removal removed repair treatment job device " +
      "release placement implant correction blasting scraping stripping outpatient inpatient kept guided total " +
      "complete child kid pediatric teenager chronic severe acute recurrent resection",
  ),
} as const;

/** Words of names that tell little about the institution. */
export const weakWords: ReadonlySet<string> = new Set([
  ...fillerWords,
  ...genericWords.facility,
  ...["university", "science"],
]);

/** The name in CMS's directory, and another name of the same institution. Each name finds the other. */
export const institutions: readonly (readonly [name: string, otherName: string])[] = [
  ["ahn", "allegheny"],
  ["ecu", "east carolina university"],
  ["iu", "indiana university"],
  ["johns hopkins", "jhu"],
  ["kaiser foundation", "kaiser permanente"],
  ["lsu", "louisiana state university"],
  ["lvhn", "lehigh valley hospital"],
  ["cpmc", "california pacific medical center"],
  ["musc", "medical university of south carolina"],
  ["nebraska medical center", "university of nebraska"],
  ["new york presbyterian", "nyp newyork"],
  ["nyu", "new york university"],
  ["ohsu", "oregon health and science university"],
  ["ohio state university", "osu"],
  ["oklahoma state university", "osu"],
  ["ou", "university of oklahoma"],
  ["rwj", "robert wood johnson"],
  ["tristar", "hca"],
  ["uab", "university of alabama"],
  ["uc", "university of california"],
  ["uc davis ucd", "university of california davis"],
  ["uc irvine uci", "university of california irvine"],
  ["uc san diego", "ucsd"],
  ["uchealth", "university of colorado"],
  ["ucla", "university of california los angeles"],
  ["ucsf", "university of california san francisco"],
  ["uf", "university of florida"],
  ["uk", "university of kentucky"],
  ["um", "university of miami"],
  ["umass", "university of massachusetts"],
  ["unc", "university of north carolina"],
  ["unm", "university of new mexico"],
  ["usc", "university of southern california"],
  ["ut", "university of texas"],
  ["uva", "university of virginia"],
  ["uvm", "university of vermont"],
  ["uw", "university of washington"],
  ["uw", "university of wisconsin"],
  ["vcu", "virginia commonwealth university"],
  ["wvu", "west virginia university"],
];

/**
 * The data set has no or few hospitals of these kinds, for the given reason. The hint is added if nothing
 * else is asked for, or if the other words are a city that Virginia has, too.
 */
export const absentHospitals: readonly (readonly [
  words: ReadonlySet<string>,
  reason: string,
  hint?: string,
])[] = [
  [
    setOf("va vamc vha veteran veterans"),
    "hospitals of Veterans Affairs (VA) are not in this data set, because Medicare doesn't pay them under the OPPS",
    "; for hospitals in Virginia add a name or a city, or `state=VA`",
  ],
  [
    setOf("maryland baltimore annapolis hopkins"),
    "hospitals in Maryland are not in this data set, because the state sets their rates outside the OPPS",
  ],
  [
    setOf("army naval navy military madigan landstuhl bamc tripler"),
    "military hospitals are not in this data set, because Medicare doesn't pay them",
  ],
  [
    setOf(
      "child children childrens pediatric shriner shriners chop choa chla lurie nemours jude rady nationwide",
    ),
    "few children's hospitals are in this data set, because they treat few patients with Medicare",
  ],
];
