/**
 * A small answer as a whole: a manifest, a token, a list. Never the image itself.
 */
import { readFully } from "../../formats/byte-stream.ts";
import { SourceError } from "../errors.ts";
import { connectionFailure, stallFailure } from "./failure.ts";
import type { GetRequest, HttpClient, SendRequest } from "./http-client.ts";
import type { Place } from "./place.ts";
import type { AnswerHeaders } from "./representation.ts";

export interface Document {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly bytes: Uint8Array;
}

/**
 * @param request   a GET unless it says otherwise
 * @param maxLength bytes; a longer answer is refused before it is read
 * @throws SourceError as the request goes, SOURCE_UNAVAILABLE for an answer that is too long or breaks off
 */
export async function readDocument(
  client: HttpClient,
  place: Place,
  request: GetRequest | SendRequest,
  maxLength: number,
): Promise<Document> {
  const { status, headers, body } = await client.send(place, { method: "GET", ...request });
  const bytes = new Uint8Array(maxLength + 1);
  try {
    const length = await readFully(body, bytes);
    if (length > maxLength) {
      throw new SourceError("SOURCE_UNAVAILABLE", `${place.name} answers with more than ${maxLength} bytes`, {
        context: { maxLength },
      });
    }
    return { status, headers, bytes: bytes.slice(0, length) };
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw body.stalled ? stallFailure(place, client.options.stallMs).error : connectionFailure(error, place).error;
  } finally {
    body.close();
  }
}
