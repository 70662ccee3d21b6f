export {
  isSourceUrl,
  isWebAddress,
  shownAddress,
  sourceUrlExpected,
  withoutCredentials,
} from "./address.ts";
export { type Changes, type Coverage, changesBetween, coverageOf, statusOf } from "./answers/catalog.ts";
export { type RowCounts, rowsOfFacility, rowsOfScope } from "./answers/counts.ts";
export {
  distributionAround,
  distributionOfGroup,
  histogramOf,
  type RowsAround,
  rowsAround,
} from "./answers/distribution.ts";
export {
  describeFacility,
  type FacilityPrice,
  facilityPrices,
  findFacility,
  findRow,
  nameFacility,
  type PricedRow,
  priceOfRow,
  type Standing,
} from "./answers/facilities.ts";
export * from "./answers/facility-conditions.ts";
export {
  type Circle,
  type FacilityFilter,
  type FacilityList,
  facilityOfItem,
  facilityPage,
  facilitySorts,
  listFacilities,
} from "./answers/facility-list.ts";
export { encodePrices } from "./answers/prices.ts";
export { listProcedures, nameProcedure, procedureOrders } from "./answers/procedures.ts";
export { changeOf, matchGroups } from "./answers/trends.ts";
export { DataError, fileReasonOf, jsonIn, reasonOf, shown, systemCode } from "./errors.ts";
export { arrowBytes, arrowPieces } from "./exports/arrow-stream.ts";
export { csvBytes, csvPieces } from "./exports/csv.ts";
export { type ExportScope, type RowStatus, rowStatuses } from "./exports/scope.ts";
export { findGroup, groupSize, stateGroup, stateIndex } from "./image/group-numbers.ts";
export { attachImage, type Image, imageFormatVersion, textAt, textOf } from "./image/image.ts";
export { defaultMiles, findPlace, maxMiles, type Places, type Point, pointAt } from "./image/places.ts";
export {
  detailsOf,
  dollars,
  dollarsOf,
  type Summary,
  type SummaryField,
  summaryFields,
  summaryOf,
} from "./image/statistics-fields.ts";
export { groupOfCode, hcpcsCodeIn, procedureIncluding } from "./search/codes.ts";
export { likelyCities } from "./search/likely-cities.ts";
export type { NoMatch } from "./search/no-match.ts";
export { type City, citiesNamed, citiesOf, namesCounty, stateAt } from "./search/places.ts";
export { prepareSearch } from "./search/prepare.ts";
export { type Absent, type PlainProcedure, plainProcedure } from "./search/procedure-words.ts";
export { type Alternative, type SearchAnswer, search } from "./search/search.ts";
export { isFirstMeant, sureScore } from "./search/sure.ts";
export { splitWords } from "./search/text.ts";
export { type DocumentKind, documentKinds } from "./search/text-index.ts";
export * from "./snapshot/schema.ts";
