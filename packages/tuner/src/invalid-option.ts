import { SluiceError } from 'sluice';

/** What cannot work, in a sentence of its own. */
export function invalidOption(message: string): SluiceError {
  return new SluiceError('invalid-option', message);
}

/** The field, what it must be, what it got, and the way out where there is one. */
export function mustBe(field: string, what: string, got: unknown, wayOut = ''): SluiceError {
  const shown = typeof got === 'string' ? JSON.stringify(got) : String(got);
  return invalidOption(`${field} must be ${what}, got ${shown}.${wayOut}`);
}
