import type { Endpoint } from "../endpoint.ts";
import { datasets } from "./datasets.ts";
import { arrow, csv, parquet } from "./exports.ts";
import { facility } from "./facility.ts";
import { pages } from "./pages.ts";
import { prices } from "./prices.ts";
import { procedures } from "./procedures.ts";
import { search } from "./search.ts";
import { usage } from "./usage.ts";

/** All endpoints but the OpenAPI document, which describes them. */

export const endpoints: readonly Endpoint[] = [
  prices,
  search,
  procedures,
  facility,
  datasets,
  usage,
  pages,
  csv,
  arrow,
  parquet,
];
