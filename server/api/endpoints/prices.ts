import * as v from "valibot";
import { encodePrices, findGroup, groupSize } from "../../../engine/query.ts";
import { noPrices } from "../absence.ts";
import { type Context, type Endpoint, endpoint } from "../endpoint.ts";
import { nextPage } from "../paging.ts";
import { procedure, rowLimit, state } from "../parameters.ts";
import { groupOfKey, limitOfKey, maxLimit, priceKey, queryOfKey, readPriceKey } from "../price-key.ts";
import { pricesResponse } from "../responses.ts";

/** Answers with the price list of a procedure group. */

const name = "prices";

type Page = Pick<Context, "image" | "offset" | "segment" | "scratch">;

function answerPrices(page: Page, key: number): Uint8Array {
  const { image, offset, scratch } = page;
  const [group, limit] = [groupOfKey(key), limitOfKey(key)];
  const next = nextPage(page, name, groupSize(image, group), limit, () => queryOfKey(image, key));
  return encodePrices(image, group, limit, offset, next, scratch);
}

const general = endpoint({
  path: "/healthcare/prices",
  name,
  summary: "Charges and allowed amounts of one procedure group, a row per facility, cheapest first",
  description:
    "What each hospital charges for a procedure group and what Medicare allows for it, so that hospitals can be compared. " +
    "Rows come by charge, equal charges by CCN, and the summary is over all facilities that match, on whatever page. Only " +
    "rows with both amounts are listed: CMS leaves them out where a hospital had 10 services or fewer.",
  returns:
    "The procedure group, the statistics of all that match, and the page's facilities, cheapest first.",
  kind: "versioned",
  parameters: v.object({
    procedure,
    state,
    limit: rowLimit(maxLimit),
  }),
  response: pricesResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { versions, image } = context;
    const group = findGroup(image, values.procedure, values.state ?? null);
    if (group < 0) throw noPrices(versions, image, values.procedure, values.state);
    return answerPrices(context, priceKey(group, values.limit));
  },
});

export const prices: Endpoint = {
  ...general,
  keyed: {
    read: readPriceKey,
    answer: (image, key, scratch) => answerPrices({ image, offset: 0, segment: "", scratch }, key),
  },
};
