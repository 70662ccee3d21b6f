import { hasWrittenPrices } from "./api.ts";
import { choiceOf } from "./choice.ts";
import { askAhead } from "./explore-data.ts";

/** Sends the first requests of the Explore page while its other modules are still being loaded. */

// Nothing is requested ahead if the server found no prices: then `load` asks for what there is.
if (hasWrittenPrices) askAhead(choiceOf(new URL(location.href)));
