import type { Endpoint } from "../endpoint.ts";
import { datasets } from "./datasets.ts";
import { arrow, csv, parquet } from "./exports.ts";
import { facilities } from "./facilities.ts";
import { facility } from "./facility.ts";
import { facilityTrends } from "./facility-trends.ts";
import { versions } from "./overview.ts";
import { pages } from "./pages.ts";
import { prices } from "./prices.ts";
import { procedure } from "./procedure.ts";
import { procedures } from "./procedures.ts";
import { search } from "./search.ts";
import { trends } from "./trends.ts";
import { usage } from "./usage.ts";

/** All endpoints except the overview and the OpenAPI document, which describe all endpoints. */

export const endpoints: readonly Endpoint[] = [
  prices,
  search,
  procedures,
  procedure,
  facilities,
  facility,
  facilityTrends,
  trends,
  datasets,
  usage,
  versions,
  pages,
  csv,
  arrow,
  parquet,
];
