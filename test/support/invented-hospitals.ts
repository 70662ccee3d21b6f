import { otherNames, systems } from "../../engine/search/other-names.ts";
import type { Hospital } from "./relevance.ts";

/** Invented hospitals, for tests where CMS's directory isn't beside the repository. */

const rows = `
Ashgrove Memorial Hospital | Ashgrove | TX
St Brannoc's Medical Ctr | Port Quill | FL
Mount Tamsin Hosp & Trauma Center | Elder Falls | OH
Larkspur University Medical Center-North | Flint Bend | TX
Larkspur University Medical Center-South | Flint Bend | TX
Quillberry Community Hospital, Inc | Saint Orlo | MN
Vexley-Thorne Clinic Hospital | West Pellam | PA
Our Lady Of The Fens Regional Medical Center | Baton Moor | LA
Yarrow County General Hospital | Yarrow | NE
Fenwick Children's Hospital | New Tarn | NY
Harrowgate Health System | North Ferris | NC
Dunmere Baptist Medical Center | Rhode Point | RI
Corvane Surgical Specialty Hospital | Anders Creek | CA
Glimmer Valley Methodist Hospital | Fort Wick | WY
Presbyterian Hospital Of Oaksend | Oaksend | NM
Providence Tarrow Hospital | Tarrow | OR
Zephyr Heart And Orthopedic Institute | Key Marlow | FL
Kestrel Women's Hospital | Saint Orlo | MO
`;

const listed = rows
  .trim()
  .split("\n")
  .map((row, i): Hospital => {
    const [name, city, state] = row.split(" | ");
    return { ccn: `99${String(i + 1).padStart(4, "0")}`, name, city, state };
  });

/** A hospital with an invented name for each CCN with an unofficial name or a system. */
const known = new Set([...otherNames.keys(), ...systems.flatMap(({ ccns }) => ccns)]);
const nameless = Array.from(known, (ccn, i): Hospital => {
  const letters = [...String(i).padStart(4, "0")].map((digit) => "bdfghjkmnz"[Number(digit)]);
  const word = `${letters[0]}y${letters[1]}o${letters[2]}u${letters[3]}ix`;
  return { ccn, name: `${word} Hospital`, city: `${word}ville`, state: "WY" };
});

export const inventedHospitals: readonly Hospital[] = [...listed, ...nameless];
