// Ids that begin with the day on which they were made: `2027-01-31-kJx2a9`. Chosen by the kind of stories, and by settings
// for others: `record_id_generator = DatedName`.
import { randomBytes } from 'node:crypto';

/**
 * @param {import('coffer').Clock} clock
 * @returns {import('coffer').IdGenerator}
 */
export function datedName(clock) {
  return {
    generate() {
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      return `${day}-${randomBytes(6).toString('hex')}`;
    },
    match: (id) => /^\d{4}-\d{2}-\d{2}-[A-Za-z0-9-]+$/.test(id),
  };
}
