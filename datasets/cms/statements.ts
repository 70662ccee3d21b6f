import { columnNames } from "./columns.ts";

/** Writes parts of DuckDB statements that read amounts from CMS's file, or from a file with other column names. */

type Column = "ccn" | "state" | "code" | "charge" | "allowed";
export type ColumnNames = Readonly<Record<Column, string>>;

/** The name of CMS's file in a statement if the real name isn't known. */
export const unnamedFile = "CMS.csv";

export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const textSql = (columns: ColumnNames, column: Column): string => `trim("${columns[column]}")`;

/**
 * Returns the SELECT statement for the rows of a file that meet all conditions. Amounts are in dollars, rounded half up
 * to cents. An unreadable amount is null.
 */
export function amountsSql(
  file: string,
  columns: ColumnNames = columnNames,
  conditions: readonly string[] = [],
): string {
  const text = (column: Column) => textSql(columns, column);
  const dollars = (column: "charge" | "allowed") =>
    `round(TRY_CAST(${text(column)} AS DECIMAL(18,10)), 2) AS ${column}`;
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return (
    `SELECT upper(${text("ccn")}) AS ccn, upper(${text("state")}) AS state, ${text("code")} AS apc, ` +
    `${dollars("charge")}, ${dollars("allowed")} ` +
    `FROM read_csv(${quoted(file)}, header = true, all_varchar = true)${where}`
  );
}
