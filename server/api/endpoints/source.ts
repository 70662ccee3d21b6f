import { type Image, versionName } from "../../../engine/query.ts";

/** Tells the source of an answer's numbers. */

/** What every answer says of the data that it is from. */
export const sourceOf = ({ description: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});
