import { blank, type Snapshot } from "../../engine/index.ts";

export type ExportedRow = Record<string, string | number | null>;

export function expectedRows({ provenance, table }: Snapshot): ExportedRow[] {
  const { facilities, procedures, rows } = table;
  const dollars = (cents: number) => (cents === blank ? null : cents / 100);
  const count = (value: number) => (value === blank ? null : value);
  return Array.from(rows.facility, (f, i): ExportedRow => {
    const [charge, allowed, p] = [rows.charge[i], rows.allowed[i], rows.procedure[i]];
    const isPriced = charge > 0 && allowed > 0;
    const isSuppressed = charge === blank && allowed === blank;
    return {
      data_year: provenance.dataYear,
      data_version: `${provenance.dataYear}.${provenance.revision}`,
      ccn: facilities.ccn[f],
      facility: facilities.name[f],
      city: facilities.city[f],
      state: facilities.state[f],
      code: procedures.code[p],
      procedure: procedures.name[p],
      submitted_charge: isPriced ? charge / 100 : null,
      medicare_allowed: isPriced ? allowed / 100 : null,
      status: isPriced ? "priced" : isSuppressed ? "suppressed" : "incomplete",
      street: facilities.street[f] || null,
      zip: facilities.zip[f] || null,
      rural_urban_code: facilities.ruralUrbanCode[f] || null,
      rural_urban_description: facilities.ruralUrbanDescription[f] || null,
      services: count(rows.services[i]),
      beneficiaries: count(rows.beneficiaries[i]),
      medicare_payment: dollars(rows.payment[i]),
      outlier_services: count(rows.outlierServices[i]),
      outlier_amount: dollars(rows.outlierAmount[i]),
    };
  });
}
