/** The query engine: snapshot files in, answers as JSON bytes out. It knows no HTTP, clock, environment or console. */
export { buildImage } from "./build.ts";
export { type Coverage, coverageOf, type Status, statusOf } from "./catalog.ts";
export { DataError, shown } from "./errors.ts";
export { type FacilityPrice, facilityPrices, findFacility, type Standing } from "./facilities.ts";
export {
  attachImage,
  type Description,
  findGroup,
  type Image,
  imageFormatVersion,
  imageTable,
  summaryFields,
  textAt,
  textOf,
} from "./image.ts";
export { decodeSnapshot, encodeSnapshot } from "./parquet.ts";
export { encodePrices, groupSize } from "./prices.ts";
export { listProcedures, type ProcedureOrder, type ProcedureSummary, procedureOrders } from "./procedures.ts";
export * from "./schema.ts";
export { type DocumentKind, describeDocument, documentKinds, search } from "./search.ts";
export {
  arrange,
  countRows,
  type Facilities,
  type Procedures,
  type Rows,
  type Snapshot,
  type SnapshotContent,
  sealSnapshot,
  versionName,
} from "./snapshot.ts";
export { identityOrder, stableOrder } from "./sort.ts";
