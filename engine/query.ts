/** What answering takes: images and look-ups, without the libraries that read snapshots and build images of them. */

export { arrowBytes, arrowPieces } from "./arrow-stream.ts";
export { type Coverage, coverageOf, type Status, statusOf } from "./catalog.ts";
export { type RowCounts, rowsOfFacility, rowsOfProcedure, rowsOfScope } from "./counts.ts";
export { csvBytes, csvPieces } from "./csv.ts";
export { DataError, reasonOf, SizeError, shown } from "./errors.ts";
export {
  describeFacility,
  type FacilityPrice,
  facilityPrices,
  findFacility,
  type Standing,
} from "./facilities.ts";
export {
  attachImage,
  type Description,
  findGroup,
  type Image,
  imageFormatVersion,
  stateGroup,
  stateIndex,
  summaryFields,
  textAt,
  textOf,
} from "./image.ts";
export { encodePrices, groupSize } from "./prices.ts";
export { listProcedures, type ProcedureOrder, type ProcedureSummary, procedureOrders } from "./procedures.ts";
export * from "./schema.ts";
export { type ExportScope, rowsInScope } from "./scope.ts";
export {
  absentProcedure,
  type DocumentKind,
  documentKinds,
  encodeMatches,
  explainNoMatch,
  search,
} from "./search.ts";
export { versionName } from "./snapshot.ts";
