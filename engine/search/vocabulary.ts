/** Abbreviations, cut words, misspellings and plurals of names in CMS's directory; the index holds the long form. */
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

export const abbreviations: ReadonlyMap<string, string> = new Map(
  Object.entries(shortFormsOf).flatMap(([long, short]) => short.split(" ").map((form) => [form, long])),
);

/** Short forms that may mean something else. They match their long form like a prefix. */
export const ambiguousForms: readonly (readonly [short: string, long: string])[] = [
  ["co", "company"],
  ["co", "county"],
  ["dr", "doctors"],
  ["drs", "doctors"],
  ["e", "east"],
  ["joe", "joseph"],
  ["joes", "joseph"],
  ["joes", "josephs"],
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

/** Nicknames of cities, and of states with a city's name → their words in the index. Words are joined. */
export const cityNicknames: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    abq: "albuquerque",
    atl: "atlanta",
    atx: "austin",
    bham: "birmingham",
    bmore: "baltimore",
    cincy: "cincinnati",
    dfw: "dallas fortworth",
    dtla: "losangeles",
    indy: "indianapolis",
    jax: "jacksonville",
    kc: "kansascity",
    la: "losangeles la",
    longisland: "manhasset newhydepark mineola bayshore patchogue stonybrook huntington riverhead roslyn",
    manhattan: "newyork manhattan",
    mpls: "minneapolis",
    nola: "neworleans",
    nyc: "newyork brooklyn bronx statenisland flushing jamaica elmhurst farrockaway",
    newyorkcity: "newyork brooklyn bronx statenisland flushing jamaica elmhurst farrockaway",
    okc: "oklahomacity",
    pdx: "portland",
    pgh: "pittsburgh",
    philly: "philadelphia",
    phx: "phoenix",
    queens: "jamaica flushing elmhurst farrockaway",
    satx: "sanantonio",
    sf: "sanfrancisco",
    slc: "saltlakecity",
    stl: "saintlouis",
    vegas: "lasvegas",
    washingtonstate: "wa",
    newyorkstate: "ny",
  }).map(([nickname, cities]) => [nickname, cities.split(" ")]),
);

const setOf = (words: string) => new Set(words.split(" "));

/** Words that are followed by a place. */
export const placeWords: ReadonlySet<string> = setOf("around in near");

/** Words between which and a "me" nothing stands: near me, close to me, around me. */
export const wordsBeforeSelf: ReadonlySet<string> = setOf("near nearest around by to beside");

/** Words without meaning in a query. They are never needed. */
export const fillerWords: ReadonlySet<string> = setOf(
  "a an and at by for from in near of on or the to with apc ccn inc llc llp lp pllc cpt hcpcs corp",
);

/** Generic words, by what is searched for. Beside other words they aren't needed, but improve the score. */
export const genericWords = {
  facility: setOf(
    "hospital medical center health healthcare system clinic institute network service facility authority campus " +
      "main best cheapest nearest closest close nearby emergency er room rooms",
  ),
  procedure: setOf(
    "surgery surgical procedure procedures operation cost costs price prices charge charges removal removed repair " +
      "treatment out torn detached deviated droopy job blasting scraping stripping fix outpatient release kept",
  ),
} as const;

/** Weak words of names, which tell little about the institution. */
export const weakWords: ReadonlySet<string> = new Set([
  ...fillerWords,
  ...genericWords.facility,
  ...["university", "science"],
]);

/** Names of institutions in the directory and their other names. Each finds the other. */
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
 * Patients' words for the frequent procedures of each APC, and behind the bar the HCPCS codes of these procedures. An APC
 * is a mix of procedures of similar cost. Sources are the groups' descriptions and CMS, Hospital Outpatient PPS Addendum
 * B, which assigns each code to its APC; `import --codes` warns where an addendum says otherwise. Words that mean one thing
 * only together are joined.
 */
const plainWords: Readonly<Record<string, string>> = {
  "5072": "skin lesion removal abscess drainage breast iandd liver debridement | 10061 11042 47000",
  "5073": "tumor cyst removal breast | 21555",
  "5091": "lumpectomy breast cancer tumor removal | 19301",
  "5092": "mastectomy breast removal | 19303",
  "5093": "breast reconstruction implant | 19357",
  "5112": "trigger finger | 26055",
  "5113":
    "knee arthroscopy scope tennis elbow meniscus bunion hammertoe broken bone fracture toe finger amputation | 29881 28285 28820 26951",
  "5114":
    "shoulder arthroscopy rotator cuff bunion acl ligament broken bone fracture orif wrist laminectomy discectomy microdiscectomy herniated disc kyphoplasty reconstruction ankle plate | 29827 28297 29888 25609 63030 22514",
  "5115":
    "total knee hip reverse shoulder joint replacement arthroplasty spine fusion tka tkr tha thr tsa new partial lumbar back | 27447 27130 23472",
  "5116": "spine spinal fusion ankle replacement neck cervical lumbar back | 22551 27702",
  "5153": "bronchoscopy sinus lung biopsy | 31624",
  "5154": "bronchoscopy ebus lung biopsy | 31628",
  "5155": "sinus surgery sinuses fess | 31267",
  "5163": "ear tubes | 69436",
  "5164": "tonsils tonsillectomy adenoids | 42826",
  "5165": "nose septum septoplasty ear drum | 30520",
  "5166": "hearing | 69930",
  "5183": "port catheter insertion varicose veins placement | 36561",
  "5184": "dialysis fistula access | 36821",
  "5191": "cardiac heart catheterization cath angiogram angiography | 93458",
  "5192": "angioplasty leg artery balloon coronary heart dialysis access | 37224 36903",
  "5193": "coronary heart stent angioplasty drug eluting leg artery pci ptca | 92928 37226",
  "5194": "coronary heart leg artery stent atherectomy | 92933 37227",
  "5200": "cardiomems heart failure | 33289",
  "5212": "heart node ablation cardiac | 93650",
  "5213": "heart catheter ablation atrial fibrillation afib arrhythmia cardiac ep study | 93656",
  "5222": "loop recorder battery generator replacement implant | 33285",
  "5223": "battery generator replacement implant | 33208",
  "5224": "biventricular implant cardiac leadless | 33225",
  "5231": "implantable defibrillator generator battery replacement aicd | 33262",
  "5232": "implantable defibrillator aicd | 33249",
  "5244": "stem cell bone marrow transplant | 38240",
  "5302": "endoscopy egd stomach scope peg feeding tube swallowing dilation esophagus | 43259",
  "5303": "endoscopy ercp bile duct | 43274",
  "5313":
    "colonoscopy endoscopy hemorrhoids piles colon rectal cancer screening polyp polyps polypectomy | 45389 46260",
  "5331": "endoscopy bile duct esophagus ercp | 43276",
  "5341": "hernia inguinal umbilical bellybutton | 49505",
  "5361":
    "gallbladder cholecystectomy hernia laparoscopic appendix appendectomy keyhole gallstones chole lapchole thyroidectomy thyroid parathyroid tubal ligation tubestied ovarian cyst ovary | 47562 49650 44970 60240 58670",
  "5362": "hysterectomy laparoscopic uterus keyhole fibroids myomectomy | 58571",
  "5372": "bladder cystoscopy scope | 52000",
  "5373": "bladder cystoscopy prostate biopsy botox scope | 55700",
  "5374":
    "kidney stones stone lithotripsy bladder tumor eswl turbt ureteral ureter stent cancer | 50590 52235",
  "5375":
    "kidney stones stone laser enlarged prostate bph surgery turp bladder tumor urolift cancer | 52356 52601",
  "5376": "prostate brachytherapy incontinence sling | 55875",
  "5377": "penile prosthesis implant | 54401",
  "5378": "artificial urinary sphincter penile prosthesis implant | 53445",
  "5414": "hysteroscopy uterus dandc | 58558 58120",
  "5415": "hysterectomy vaginal prolapse uterus pelvic sling bladder endometrial ablation | 58260",
  "5431": "carpal tunnel nerveablation release | 64721 64635",
  "5432": "nerve repair | 64910",
  "5462": "spinal cord stimulator trial lead | 63650",
  "5463": "spinal cord stimulator generator | 63663",
  "5464": "spinal cord sacral nerve vagus stimulator bladder | 64590",
  "5465": "spinal cord stimulator deep brain inspire hypoglossal sleep apnea | 63685",
  "5471": "pain pump | 62362",
  "5491": "cataract phaco lens eye glaucoma implant | 66984",
  "5492": "glaucoma shunt cornea transplant retina vitrectomy eye cataract | 66183 65756 67036",
  "5493": "artificial iris eye | 0616T",
  "5503": "eyelid lift drooping blepharoplasty crossedeyes strabismus | 67904",
  "5504": "eyelid reconstruction eye socket | 67414",
  "5627": "radiotherapy radiosurgery gamma knife stereotactic cancer | 77371",
  "8011": "observation stay overnight | G0378",
};

export const plainWordsOf = Object.fromEntries(
  Object.entries(plainWords).map(([procedure, text]) => {
    const [words, codes] = text.split(" | ");
    return [procedure, { words, codes: codes.split(" ") }];
  }),
);

/** Words for procedures that no comprehensive APC contains. */
export const absentProcedures: ReadonlySet<string> = setOf(
  "mri ct cat scan scans xray x ray imaging ultrasound sonogram mammogram mammography pet emergency er ed visit visits " +
    "consultation checkup lab laboratory blood test tests ekg ecg echocardiogram vaccine vaccination shot chemo " +
    "chemotherapy infusion physiotherapy physical therapy childbirth delivery birth ambulance " +
    "cesarean caesarean csection section pregnancy sleep lasik bypass cabg tavr transfusion cardioversion injection " +
    "injections epidural nerveblock block craniotomy urgent room telehealth dental teeth ivf",
);

/** Words for hospitals of Veterans Affairs, which Medicare doesn't pay under the OPPS. */
export const veteransWords: ReadonlySet<string> = setOf("va vamc vha veteran veterans");
