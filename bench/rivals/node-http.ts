import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { encodePrices, findGroup, groupSize } from "../../engine/index.ts";
import { loadSnapshot, nextPage, pricesPath, readSettings } from "./rival.ts";

/** Node's HTTP module with the service's engine shows the effect of the HTTP layer alone. */

const settings = readSettings();
const { image } = await loadSnapshot(settings.snapshotFile);
const headers = settings.headers.flat();

const server = createServer((request, response) => {
  const [path, text] = (request.url ?? "").split("?");
  const parameters = new URLSearchParams(text);
  const query = {
    procedure: parameters.get("procedure") ?? "",
    state: parameters.get("state"),
    limit: Number(parameters.get("limit") ?? 25),
  };
  const group = path === pricesPath ? findGroup(image, query.procedure, query.state) : -1;
  if (group < 0) {
    response.writeHead(404).end();
    return;
  }
  const body = encodePrices(image, group, query.limit, 0, nextPage(image, query, groupSize(image, group)));
  response.writeHead(200, [...headers, "Content-Length", String(body.length)]).end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log(`ready ${(server.address() as AddressInfo).port}`));
