import { type Image, versionName } from "../../../engine/query.ts";

/** What every answer says of the data that it is from. */
export const sourceOf = ({ description: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});
