/**
 * Heads as they are sent: written anew from what was read, in one form, so that the next hop has nothing to interpret. What could end
 * a line early is refused here once more, whoever let it come this far.
 */
import { STATUS_CODES } from 'node:http';
import { BadMessage, type HeaderList } from './message.ts';

/** `connectionHeaders` come first: `host`, and those that frame the message and speak of the connection. Latin1, with the empty line. */
export function requestText(
  method: string,
  target: string,
  headers: HeaderList,
  connectionHeaders: HeaderList,
): string {
  if (method.includes(' ') || target.includes(' ')) throw new BadMessage(400, 'a request line has a blank too many');
  return headerText(`${method} ${target} HTTP/1.1\r\n`, connectionHeaders, headers, 400);
}

/** Latin1, with the empty line. The reason is the usual one of its status. */
export function responseText(status: number, headers: HeaderList, connectionHeaders: HeaderList): string {
  return headerText(statusLine(status), connectionHeaders, headers, 502);
}

const statusLines: (string | undefined)[] = [];

function statusLine(status: number): string {
  let line = statusLines[status];
  if (line === undefined) {
    if (!(Number.isInteger(status) && status >= 100 && status <= 599)) {
      throw new BadMessage(502, `a status must be a whole number from 100 to 599, got ${status}`);
    }
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    statusLines[status] = line;
  }
  return line;
}

/** Lines behind a first one, and the empty line. Throws `BadMessage` of this status. */
export function headerText(firstLine: string, first: HeaderList, others: HeaderList, status: number): string {
  const lines = firstLine + linesText(first) + linesText(others);
  if (framings(first) + framings(others) > 1) throw new BadMessage(status, 'a message must say once how long it is');
  if (!linesForm(1 + (first.length >> 1) + (others.length >> 1)).test(lines)) {
    throw new BadMessage(status, 'a head must not have line ends or control characters inside its lines');
  }
  return `${lines}\r\n`;
}

function linesText(headers: HeaderList): string {
  let text = '';
  for (let index = 0; index + 1 < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return text;
}

/** A sender that puts a length to what it passes on must have taken the other away: two would be a way in for another request. */
function framings(headers: HeaderList): number {
  let count = 0;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === 'content-length' || headers[index] === 'transfer-encoding') count += 1;
  }
  return count;
}

const forms: (RegExp | undefined)[] = [];
const mostForms = 256;

/**
 * So many lines, and in them nothing that could end a line. Nothing above 0xff either: written as latin1 it would lose its upper byte, and U+010A
 * would become a line feed. One expression over the whole costs a third of a look at every name and value; it cannot backtrack, since
 * no line has what ends it.
 */
function linesForm(lines: number): RegExp {
  const known = forms[lines];
  if (known !== undefined) return known;
  const form = new RegExp(`^(?:[\\t\\x20-\\x7e\\x80-\\xff]*\\r\\n){${lines}}$`);
  if (lines < mostForms) forms[lines] = form;
  return form;
}
