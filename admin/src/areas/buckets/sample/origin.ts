// The mark of the bucket that the console has created for the sample data. It is part of the first view; the data is not.
import { displayText, memberText } from '../../../core/json-text.ts';

/** The attribute of the bucket that names its origin. */
export const originKey = 'origin';
export const origin = 'sample data of the Coffer console';

/** Returns whether the attributes of a bucket say that the console has created it. */
export function isSample(data: string): boolean {
  const text = memberText(data, originKey);
  return text !== undefined && displayText(text) === origin;
}
