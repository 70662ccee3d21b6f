import type { InferOutput } from "valibot";
import type * as responses from "../../../api/responses.ts";

/** Types of the API's answers. */

export type ProcedureAnswer = InferOutput<typeof responses.procedureResponse>;
export type StateRow = ProcedureAnswer["data"][number];
export type TrendsAnswer = InferOutput<typeof responses.trendsResponse>;
export type TrendYear = TrendsAnswer["data"][number];
export type FacilitiesAnswer = InferOutput<typeof responses.facilitiesResponse>;
export type Entry = FacilitiesAnswer["data"][number];
export type Priced = Entry & { submitted_charge: number; medicare_allowed: number };
export type FacilityAnswer = InferOutput<typeof responses.facilityResponse>;
export type FacilityRow = FacilityAnswer["data"][number];
export type FacilityTrendsAnswer = InferOutput<typeof responses.facilityTrendsResponse>;
export type Standing = FacilityRow["national"];
export type ProceduresAnswer = InferOutput<typeof responses.proceduresResponse>;
export type SearchAnswer = InferOutput<typeof responses.searchResponse>;
export type DatasetsAnswer = InferOutput<typeof responses.datasetsResponse>;
export type Dataset = DatasetsAnswer["data"][number];
export type UsageAnswer = InferOutput<typeof responses.usageResponse>;
