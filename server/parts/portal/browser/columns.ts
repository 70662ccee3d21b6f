/** Describes the columns of an export, and gives code that loads its files in other programs. */

/** Each text has the type with its unit, a vertical bar, and the meaning. */
export const columns: Readonly<Record<string, string>> = {
  data_year: "integer | calendar year of the services",
  data_version: "text | data version, such as 2024.1",
  ccn: "text | the hospital's number at CMS, six characters",
  facility: "text | the hospital's name",
  city: "text | its city",
  state: "text | its state's two letters",
  code: "text | procedure group: APC code, four digits",
  procedure: "text | the group's official name",
  submitted_charge: "number in dollars | mean charge for a service; empty unless priced",
  medicare_allowed:
    "number in dollars | mean amount that Medicare allows, with the patient's share; empty unless priced",
  status: "text | priced, suppressed (10 services or fewer) or incomplete",
  street: "text | the hospital's address",
  zip: "text | its ZIP code, five digits",
  rural_urban_code: "text | RUCA code of its area",
  rural_urban_description: "text | what that code means",
  services: "integer | services in the year",
  beneficiaries: "integer | patients in the year",
  medicare_payment: "number in dollars | mean amount that Medicare pays",
  outlier_services: "integer | services with an outlier payment",
  outlier_amount: "number in dollars | mean outlier payment",
};

/** Columns of text whose values look like numbers, so that CSV readers would convert them. */
const texts = ["data_version", "ccn", "code", "zip", "rural_urban_code"];

/** Names in the Parquet file, for the columns that have another name there. The Parquet file's amounts are in cents. */
export const parquetNames: Readonly<Record<string, string>> = {
  code: "procedure_code",
  procedure: "procedure_name",
  submitted_charge: "submitted_charge_cents",
  medicare_allowed: "medicare_allowed_cents",
  medicare_payment: "medicare_payment_cents",
  outlier_amount: "outlier_amount_cents",
};

/** Columns that only CSV and Arrow have. In Parquet, the metadata have year and version, and amounts show the status. */
export const notInParquet = ["data_year", "data_version", "status"];

export const typedLines = (version: string): Record<string, string> => ({
  "Parquet in DuckDB": `SELECT *, submitted_charge_cents / 100 AS submitted_charge FROM 'opps-${version}.parquet';`,
  "Parquet in pandas": `import pandas as pd\ncharges = pd.read_parquet("opps-${version}.parquet")`,
  "Arrow in Python": `import pyarrow as pa\ncharges = pa.ipc.open_stream("opps-${version}.arrow").read_all()`,
});

/** @param names the columns of the file */
export function loadingLines(version: string, names: readonly string[]): Record<string, string> {
  const file = `opps-${version}.csv`;
  const own = texts.filter((name) => names.includes(name));
  const listed = (write: (name: string) => string) => own.map(write).join(", ");
  return {
    DuckDB: `SELECT * FROM read_csv('${file}', types = {${listed((name) => `'${name}': 'VARCHAR'`)}});`,
    pandas: `import pandas as pd\ncharges = pd.read_csv("${file}", dtype={${listed((name) => `"${name}": str`)}})`,
    R: `charges <- read.csv("${file}", colClasses = c(${listed((name) => `${name} = "character"`)}))`,
  };
}
