/** Plain-language names of the procedure groups, by part of the body. */

/**
 * Each line has a group's code, its plain name with the article for use in a sentence, and some further procedures. A
 * group is a comprehensive APC, a mix of procedures of similar cost. The name says what most of the group's patients
 * get. The list is written by hand from the groups' descriptions and CMS's Hospital Outpatient PPS Addendum B, for
 * readers who aren't clinicians.
 */
const list = `
Skin and soft tissue
5072 | skin growth removal or biopsy | draining of abscesses, cleaning of wounds, needle biopsies of breast or liver
5073 | removal of a tumor or cyst under the skin | deeper tumors and cysts, cleaning of large wounds

Breast
5091 | breast lump removal | lumpectomy, open breast biopsy, removal of lymph nodes
5092 | a mastectomy | removal of a breast, lumpectomy with removal of armpit lymph nodes
5093 | breast reconstruction | rebuilding of a breast with an implant or tissue expander
5094 | breast reconstruction, most costly | the most costly operations on breast and lymph vessels

Bones, joints and spine
5112 | setting of a broken bone or small hand surgery | broken bones set without an incision, trigger finger, ganglion cysts
5113 | knee arthroscopy, bunion or toe surgery | torn meniscus, hammertoe, toe or finger amputation, smaller fractures
5114 | rotator cuff, ligament or fracture repair | shoulder arthroscopy, ACL repair, broken wrist or ankle, herniated disc, kyphoplasty
5115 | a knee, hip or shoulder replacement | total knee, hip and shoulder replacement, fusion of the neck, large fractures
5116 | a spinal fusion or ankle replacement | fusion of the lower back, artificial discs, ankle replacement, fusion of the sacroiliac joint

Ear, nose and throat
5163 | ear tubes or minor ear, nose and throat surgery | ear tubes, small growths in mouth and throat, stopping of nosebleeds
5164 | tonsil removal or straightening of the nose | tonsils and adenoids, septoplasty, smaller surgery of nose and mouth
5165 | eardrum, salivary gland or facial bone surgery | eardrum repair, reshaping of the nose, removal of salivary or parathyroid glands, broken facial bones
5166 | a cochlear implant | an implant in the inner ear to restore hearing

Lungs and airways
5153 | an examination of the airways | bronchoscopy with washing of the lung, biopsy of the voice box
5154 | a bronchoscopy with lung biopsy | samples of lung or lymph nodes, removal of growths in the voice box
5155 | sinus surgery | endoscopic sinus surgery, widening of airways, bronchial stents

Heart
5191 | heart catheterization | heart catheterization, angiograms of the heart's arteries and of others
5200 | implantation of a lung artery pressure sensor | CardioMEMS, for heart failure
5211 | a heart rhythm test | recording of the heart's electrical signals
5212 | a heart rhythm study or node ablation | electrophysiology study, AV node ablation
5213 | heart ablation | catheter ablation for atrial fibrillation and other arrhythmias
5222 | a heart monitor implant or pacemaker battery | loop recorder, replacement of a simple pacemaker's generator
5223 | a pacemaker implant | pacemaker with leads, replacement of its generator
5224 | a pacemaker for heart failure | biventricular pacemakers, some leadless ones
5231 | defibrillator battery replacement | new generator of an implanted defibrillator (ICD)
5232 | a defibrillator implant | implanted cardioverter defibrillator (ICD), also with pacing for heart failure

Blood vessels
5182 | vein catheter or port removal | removal of a port, catheters in a vein, smaller vein procedures
5183 | port insertion or varicose vein treatment | port for chemotherapy, dialysis catheter or fistula, closing of varicose veins by heat or laser
5184 | a dialysis graft or repair of a dialysis access | grafts and moved veins for dialysis, repair of a fistula, vein filters
5192 | balloon angioplasty | balloon in a leg artery, a heart artery or a dialysis access
5193 | a heart or leg artery stent | stents in the heart's arteries, stents or plaque removal in leg arteries, embolization
5194 | an artery stent with plaque removal | plaque removal (atherectomy) with a stent in heart or leg arteries, some leadless pacemakers

Stomach, bowel and abdomen
5302 | an upper endoscopy with treatment | endoscopic ultrasound, needle samples, stretching of the esophagus, tying of enlarged veins; an ordinary upper endoscopy isn't in the data
5303 | a bile duct endoscopy (ERCP) | ERCP with opening of the duct or removal of stones, complex upper endoscopy
5313 | hemorrhoid surgery or removal of a large colon growth | hemorrhoids, anal fistula, colonoscopy with removal of a large polyp; an ordinary colonoscopy isn't in the data
5331 | a stent in bile duct or digestive tract | ERCP with a stent, stents in esophagus or bowel
5341 | hernia repair | groin and navel hernia, drains in abdomen or bile ducts
5342 | larger abdominal or bile duct surgery | larger operations on abdominal wall, abdomen and bile ducts
5361 | gallbladder removal or keyhole hernia repair | gallbladder, appendix, hernia by laparoscopy, thyroid removal
5362 | a keyhole hysterectomy or prostate removal | laparoscopic removal of uterus or prostate, hiatal hernia

Kidney, bladder and prostate
5372 | a bladder examination | cystoscopy, removal of a stent, bladder catheters
5373 | a prostate biopsy or bladder treatment | prostate biopsy, Botox in the bladder, widening of the urethra
5374 | kidney stone shock waves or bladder tumor removal | lithotripsy, removal of bladder tumors, ureter stents
5375 | laser kidney stone removal or prostate surgery | ureteroscopy with laser, prostate surgery through the urethra (TURP), prostate seed implants, large bladder tumors
5376 | large kidney stone or water-jet prostate surgery | kidney stones removed through the back, prostate tissue removed by a water jet
5377 | a penile implant, simple | simpler penile prostheses
5378 | an artificial sphincter or inflatable penile implant | artificial urinary sphincter, inflatable penile prosthesis

Uterus and pelvis
5414 | a hysteroscopy or D&C | look into the uterus with removal of polyps, scraping of the uterus, cone biopsy
5415 | a vaginal hysterectomy or prolapse repair | removal of the uterus through the vagina, prolapse repair, bladder sling
5416 | larger vaginal or pelvic surgery | vaginal hysterectomy with repairs, larger prolapse surgery

Nerves and pain
5431 | carpal tunnel release or nerve ablation | carpal tunnel, ulnar nerve at the elbow, heating of nerves for back pain
5432 | nerve repair | repair of a cut nerve, nerve grafts
5461 | a nerve stimulator test or revision | test leads, revision or removal of a stimulator
5462 | a spinal cord or bladder stimulator trial | test leads at the spinal cord for pain, or at the nerves of the bladder
5463 | nerve stimulator lead replacement | replacement of leads, simpler stimulators
5464 | a bladder or nerve stimulator implant | sacral nerve stimulator, replacement of generators
5465 | a spinal cord or brain stimulator implant | spinal cord stimulator, generator for deep brain stimulation, stimulator for sleep apnea
5471 | a pain pump implant | a pump that delivers medicine to the spine

Eyes
5491 | cataract surgery | removal of the clouded lens with a new lens, minor glaucoma implants
5492 | glaucoma, retina or cornea surgery | glaucoma shunt, vitrectomy, retina repair, cornea transplant
5493 | an artificial iris or cornea | rare implants within the eye
5494 | a drug implant in the eye | implants that release medicine within the eye
5495 | a telescope implant in the eye | a tiny telescope lens for macular degeneration
5496 | the rarest eye implants | the most costly implants within the eye
5503 | an eyelid lift or eye muscle surgery | drooping eyelids, crossed eyes, tear ducts
5504 | eyelid or eye socket reconstruction | rebuilding of eyelids, eye socket surgery, new tear drainage

Other care
5244 | a stem cell transplant | bone marrow or stem cells from a donor
5627 | radiosurgery for tumors | Gamma Knife and other stereotactic radiation in one session
5881 | care of an outpatient who dies | services before an outpatient's death or transfer
8011 | an observation stay | hours or a night under observation, after an emergency or a visit
`;

interface Plain {
  name: string;
  includes: string;
  part: string;
}

const plain = new Map<string, Plain>(
  list
    .trim()
    .split("\n\n")
    .flatMap((block) => {
      const [part, ...lines] = block.split("\n");
      return lines.map((line): [string, Plain] => {
        const [code, name, includes] = line.split(" | ");
        return [code, { name, includes, part }];
      });
    }),
);

export const bodyParts = [...new Set([...plain.values()].map(({ part }) => part))];

export const plainOf = (code: string) => plain.get(code);

/** A group's plain name for use within a sentence, or else its official name. */
export const nameOf = ({ code, name }: { code: string; name: string }) => plain.get(code)?.name ?? name;

export function titleOf(group: { code: string; name: string }): string {
  const title = nameOf(group).replace(/^(an?|the) /, "");
  return title[0].toUpperCase() + title.slice(1);
}

/**
 * Finds the first of a group's further procedures in which a word begins with a word of the text. Words of one or two
 * letters are ignored.
 * @returns at most one procedure; none if the plain name already has such a word
 */
export function includedIn(code: string, text: string): string[] {
  const words = wordsOf(text).filter((word) => word.length > 2);
  const hasWord = (of = "") => wordsOf(of).some((own) => words.some((word) => own.startsWith(word)));
  const group = plain.get(code);
  return hasWord(group?.name)
    ? []
    : (group?.includes
        .split(", ")
        .filter((part) => hasWord(part))
        .slice(0, 1) ?? []);
}

/**
 * Finds the groups that match a text. Every word of the text with more than two letters must begin a word of the
 * group's plain name or further procedures. Groups whose plain name matches come first.
 */
export function codesBy(text: string): string[] {
  const words = wordsOf(text).filter((word) => word.length > 2);
  if (words.length === 0) return [];
  const codesIn = (textOf: (group: Plain) => string) =>
    [...plain].flatMap(([code, group]) => {
      const own = wordsOf(textOf(group));
      return words.every((word) => own.some((each) => each.startsWith(word))) ? [code] : [];
    });
  return [
    ...new Set([...codesIn(({ name }) => name), ...codesIn(({ name, includes }) => `${name} ${includes}`)]),
  ];
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
