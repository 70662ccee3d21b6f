/** What answering takes: images and look-ups, without the libraries that read snapshots and build images of them. */

export { isSourceUrl, isWebAddress, shownAddress, sourceUrlExpected } from "./address.ts";
export { arrowBytes, arrowPieces } from "./arrow-stream.ts";
export { type Coverage, coverageOf, statusOf } from "./catalog.ts";
export { type RowCounts, rowsOfFacility, rowsOfProcedure, rowsOfScope } from "./counts.ts";
export { csvBytes, csvPieces } from "./csv.ts";
export { allowedOf, histogramOf, markupOf, stateSummaries } from "./distribution.ts";
export { DataError, jsonIn, reasonOf, SizeError, shown, systemCode } from "./errors.ts";
export { describeFacility, facilityPrices, findFacility, type Standing } from "./facilities.ts";
export {
  attachImage,
  dollarsOf,
  findGroup,
  type Image,
  imageFormatVersion,
  stateGroup,
  stateIndex,
  summaryOf,
  textAt,
  textOf,
} from "./image.ts";
export { encodePrices, groupSize } from "./prices.ts";
export { listProcedures, procedureOrders } from "./procedures.ts";
export * from "./schema.ts";
export { type ExportScope, rowsInScope } from "./scope.ts";
export { type DocumentKind, documentKinds } from "./search/documents.ts";
export { encodeMatches } from "./search/encode.ts";
export { absentProcedure, explainNoMatch } from "./search/no-match.ts";
export { search, unpricedMatches } from "./search/search.ts";
export { versionName } from "./snapshot.ts";
export { changeOf, matchGroups } from "./trends.ts";
