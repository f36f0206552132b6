// The questions in the order of a run. Each is a file of this name in the parent folder.

/** @type {readonly string[]} */
export const questions = [
  'get-one',
  'poll',
  'post-one',
  'list-100',
  'by-hand',
  'in-process',
  'batch-25',
  'growth',
  'filter-sort',
  'authorisation',
  'delete-large',
  'burning',
  'live',
  'load',
  'start-and-memory',
  'workers',
  'mixed',
];
