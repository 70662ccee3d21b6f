import { writeFileSync } from "node:fs";
import path from "node:path";
import type { ImportOptions } from "../../datasets/cms/import.ts";
import { temporaryFolder } from "./folders.ts";

export const folder = temporaryFolder();

export const header =
  "Rndrng_Prvdr_CCN,Rndrng_Prvdr_Org_Name,Rndrng_Prvdr_St,Rndrng_Prvdr_City,Rndrng_Prvdr_State_Abrvtn," +
  "APC_Cd,APC_Desc,Avg_Tot_Sbmtd_Chrgs,Avg_Mdcr_Alowd_Amt";
export const row = "010001,Southeast Health,1 Main St,Dothan,AL,5072,Level 2 Excision,9652.79,1854.35";
export const otherRow = "330101,Some Hospital,2 Main St,New York,NY,5073,Level 3 Excision,,";

export const moreHeader =
  "Rndrng_Prvdr_Zip5,Rndrng_Prvdr_RUCA,Rndrng_Prvdr_RUCA_Desc,Bene_Cnt,CAPC_Srvcs,Avg_Mdcr_Pymt_Amt," +
  "Outlier_Srvcs,Avg_Mdcr_Outlier_Amt";
export const more = "36301,4.1,Micropolitan area core,38,41,1466.51,12,2003.125";

export function fullCsv(...rows: string[]): string {
  return [`${header},${moreHeader}`, ...rows, ""].join("\n");
}

/** The rows have only the required columns. */
export function csv(...rows: string[]): string {
  return [header, ...rows, ""].join("\n");
}

export function plainImport(file: string, out: string): ImportOptions {
  const nothing = {
    codesFile: null,
    totalsFile: null,
    released: null,
    sourceUrl: null,
    allowUnterminated: false,
    force: false,
  };
  return { file, year: 2023, out, ...nothing };
}

/** The warning of the command `import` about a file that is smaller than a release. */
export function partWarning(rows: number, facilities: number, states: number): string {
  return (
    `warning: the file has ${rows} rows, ${facilities} facilities and ${states} states, and a release some 117,000 rows, ` +
    "3,100 facilities and 50 states (with the District of Columbia): the file may be a part of a release"
  );
}

let files = 0;
/** The import's folder doesn't exist yet. */
export function optionsFor(content: string | Buffer): ImportOptions {
  const file = path.join(folder, `${++files}.csv`);
  writeFileSync(file, content);
  return plainImport(file, path.join(folder, `out-${files}`));
}
