/** What serving threads need: images and queries, without what reads snapshots and builds images. */

export { isSourceUrl, isWebAddress, shownAddress, sourceUrlExpected } from "./address.ts";
export { type Changes, type Coverage, changesBetween, coverageOf, statusOf } from "./answers/catalog.ts";
export { type RowCounts, rowsOfFacility, rowsOfProcedure, rowsOfScope } from "./answers/counts.ts";
export { allowedOf, histogramOf, markupOf, stateSummaries } from "./answers/distribution.ts";
export { describeFacility, facilityPrices, findFacility, type Standing } from "./answers/facilities.ts";
export { encodePrices, groupSize } from "./answers/prices.ts";
export { listProcedures, procedureOrders } from "./answers/procedures.ts";
export { changeOf, matchGroups } from "./answers/trends.ts";
export { DataError, fileReasonOf, jsonIn, reasonOf, SizeError, shown, systemCode } from "./errors.ts";
export { arrowBytes, arrowPieces } from "./exports/arrow-stream.ts";
export { csvBytes, csvPieces } from "./exports/csv.ts";
export { type ExportScope, rowsInScope } from "./exports/scope.ts";
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
} from "./image/image.ts";
export { hcpcsCodeIn, procedureIncluding } from "./search/codes.ts";
export { type DocumentKind, documentKinds } from "./search/documents.ts";
export { encodeMatches } from "./search/encode.ts";
export { absentProcedure, explainNoMatch } from "./search/no-match.ts";
export { search, unpricedMatches } from "./search/search.ts";
export * from "./snapshot/schema.ts";
