/**
 * A URL of http or https. One GET decides what there is; it is also the stream, until ranges are asked for.
 *
 * A web page in the place of an image (a login form, "not found" with status 200) is refused: its first bytes tell. The
 * Content-Type alone says nothing, servers give images any.
 */
import { FormatError } from "../../formats/errors.ts";
import { isHtmlPage, PAGE_HEAD_LENGTH } from "../http/html-page.ts";
import type { HttpClient } from "../http/http-client.ts";
import { Place } from "../http/place.ts";
import type { AnswerHeaders } from "../http/representation.ts";
import { rangeSpecOf } from "../http/range-reader.ts";
import { ResumingStream } from "../http/resuming-stream.ts";
import { PeekedStream } from "../peeked-stream.ts";
import type { Source } from "./source.ts";

export interface HttpSource extends Source {
  /** The server's word for what it serves. */
  readonly contentType: string | undefined;
  /** Of its first answer. */
  readonly headers: AnswerHeaders;
}

export interface OpenHttpOptions {
  /** Pours whatever comes: the format was named. */
  readonly allowsPages: boolean;
}

/**
 * @throws SourceError as the request goes, FormatError FORMAT_UNRECOGNISED for a web page, UsageError for another scheme
 */
export async function openHttp(url: string, client: HttpClient, options: OpenHttpOptions): Promise<HttpSource> {
  const place = Place.parse(url);
  const resuming = await ResumingStream.open(client, place);
  try {
    const { head, stream } = await PeekedStream.peek(resuming, PAGE_HEAD_LENGTH);
    if (!options.allowsPages && isHtmlPage(head)) throw pageInstead(place);
    const spec = rangeSpecOf(place, resuming.representation);
    return {
      name: place.name,
      path: undefined,
      size: resuming.representation.size,
      file: undefined,
      ranges: spec === undefined ? undefined : { http: client.options, spec },
      contentType: resuming.representation.contentType,
      headers: resuming.headers,
      stream: () => stream,
      resumes: () => resuming.resumes,
      warnings: () => client.warnings.map((message) => ({ code: "CERTIFICATES_LEFT_OUT", message })),
      reopen: () => openHttp(url, client, options),
      close: () => resuming.close(),
    };
  } catch (error) {
    resuming.close();
    throw error;
  }
}

function pageInstead(place: Place): FormatError {
  return new FormatError("FORMAT_UNRECOGNISED", `${place.name} is a web page, not a disk image`, {
    remedy: "Give the address of the image itself; a page may ask for a login, or lead to the download.",
  });
}
