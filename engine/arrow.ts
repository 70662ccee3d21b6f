import * as arrow from "apache-arrow";
import type { TextColumn } from "./encode.ts";
import type { Image } from "./image.ts";
import { columnsOfSchema, type SnapshotColumn } from "./schema.ts";

/**
 * A snapshot's rows as an Arrow table over the image's memory, with the columns that its schema has; nothing is copied.
 * Columns share their codes, so an IPC
 * stream of it is right only as the chunks that Arrow's writer yields: where it joins them, as `tableToIPC` does, it
 * takes memory that two columns share for one, and the stream is short.
 */
export function imageTable(image: Image): arrow.Table {
  const text = ({ offsets, bytes }: TextColumn) =>
    arrow.makeVector(
      arrow.makeData({
        type: new arrow.Utf8(),
        length: offsets.length - 1,
        nullCount: 0,
        valueOffsets: offsets,
        data: bytes,
      }),
    );
  const coded = (codes: Int32Array, dictionary: TextColumn, nullBitmap?: Uint8Array) =>
    arrow.makeVector(
      arrow.makeData({
        type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
        length: codes.length,
        ...(nullBitmap === undefined ? { nullCount: 0 } : { nullBitmap }),
        data: codes,
        dictionary: text(dictionary),
      }),
    );
  const numbers = (data: Int32Array, nullBitmap: Uint8Array) =>
    arrow.makeVector(arrow.makeData({ type: new arrow.Int32(), length: data.length, nullBitmap, data }));
  const { facility, procedure, validity } = image;
  const vectors: Record<SnapshotColumn["name"], arrow.Vector> = {
    ccn: coded(facility, image.ccn),
    facility: coded(facility, image.facilityName),
    city: coded(facility, image.city),
    state: coded(facility, image.state),
    procedure_code: coded(procedure, image.code),
    procedure_name: coded(procedure, image.procedureName),
    submitted_charge_cents: numbers(image.charge, validity.charge),
    medicare_allowed_cents: numbers(image.allowed, validity.allowed),
    street: coded(facility, image.street, validity.street),
    zip: coded(facility, image.zip, validity.zip),
    rural_urban_code: coded(facility, image.ruralUrbanCode, validity.ruralUrbanCode),
    rural_urban_description: coded(facility, image.ruralUrbanDescription, validity.ruralUrbanDescription),
    services: numbers(image.services, validity.services),
    beneficiaries: numbers(image.beneficiaries, validity.beneficiaries),
    medicare_payment_cents: numbers(image.payment, validity.payment),
    outlier_services: numbers(image.outlierServices, validity.outlierServices),
    outlier_amount_cents: numbers(image.outlierAmount, validity.outlierAmount),
  };
  const columns = columnsOfSchema(image.description.schema);
  return new arrow.Table(Object.fromEntries(columns.map(({ name }) => [name, vectors[name]])));
}
