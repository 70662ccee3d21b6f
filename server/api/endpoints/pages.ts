import * as v from "valibot";
import { contentOf, decodeCursor } from "../cursor.ts";
import { endpoint } from "../endpoint.ts";
import { ApiError } from "../errors.ts";
import { badCursor, cursorOfOtherRelease } from "../paging.ts";
import { facilitiesResponse, pricesResponse, proceduresResponse, searchResponse } from "../responses.ts";
import { facilities } from "./facilities.ts";
import { prices } from "./prices.ts";
import { procedures } from "./procedures.ts";
import { search, searchList } from "./search.ts";

const lists = new Map<string, typeof prices | typeof procedures | typeof search | typeof facilities>([
  ["prices", prices],
  ["procedures", procedures],
  [searchList, search],
  ["facilities", facilities],
]);

export const pages = endpoint({
  path: "/pages/{cursor}",
  name: "page",
  summary: "The next page of a list, from the data version of its first page",
  description:
    "Request the path in `next` unchanged, until `next` is null. All pages come from the data version of the first page",
  returns: "The next page, in the shape of its list, which `list` names.",
  kind: "page",
  segment: {
    name: "cursor",
    description: "From `next` of the previous page.",
    example: "MjAyNC4xfjljNGNjYTA4fnByaWNlc34yfnByb2NlZHVyZT01MDcyJnN0YXRlPURDJmxpbWl0PTLaU5fc",
  },
  parameters: v.object({}),
  response: v.variant("list", [pricesResponse, proceduresResponse, searchResponse, facilitiesResponse]),
  errors: ["not_found"],
  answer(context) {
    const cursor = decodeCursor(context.segment);
    if (cursor === undefined) throw badCursor(context.segment);
    const list = lists.get(cursor.list);
    if (list === undefined) throw cursorOfOtherRelease(context.segment);
    const image = context.versions.byName.get(cursor.version)?.image;
    if (image === undefined || contentOf(image) !== cursor.content)
      throw new ApiError("not_found", `data version ${cursor.version} of this page isn't loaded any more`);
    return list.value(context.onPage(image, cursor.offset), cursor.query);
  },
});
