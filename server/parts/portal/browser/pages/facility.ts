import { Hospital } from "../facility.ts";
import { start } from "../start.ts";

start(Hospital);
