// The storage contract as cases. The service may use any backend that passes them.
import { bulkCases } from './bulk.ts';
import { clockCases } from './clocks.ts';
import { filterCases } from './filters.ts';
import { longValueCases } from './long-values.ts';
import { hostileTextCases } from './hostile.ts';
import { horizonCases } from './horizon.ts';
import { objectCases } from './objects.ts';
import { severalCases } from './several.ts';
import { lastTimestampCases } from './last-timestamp.ts';
import { pageBytesCases } from './page-bytes.ts';
import { restoringCases } from './restoring.ts';
import { sortingCases } from './sorting.ts';
import { timestampCases } from './timestamps.ts';
import { wordCases } from './words.ts';
import type { StorageCase } from '../contract-case.ts';

/** Each case wants an empty store of its own. */
export const storageCases: readonly StorageCase[] = [
  ...timestampCases,
  ...clockCases,
  ...lastTimestampCases,
  ...objectCases,
  ...filterCases,
  ...longValueCases,
  ...sortingCases,
  ...wordCases,
  ...bulkCases,
  ...pageBytesCases,
  ...horizonCases,
  ...severalCases,
  ...restoringCases,
  ...hostileTextCases,
];
