// Asking questions: totals, filters, sorting and the choice of fields, all of them query parameters of one list.
import { listOf, totalOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */
/** @typedef {import('../languages.mjs').Language} Language */

/** @type {readonly { question: string, query: string, matches: (language: Language) => boolean }[]} */
const questions = [
  { question: 'Which languages are extinct?', query: 'type=extinct', matches: ({ type }) => type === 'extinct' },
  {
    question: 'Which are not single languages?',
    query: 'not_scope=individual',
    matches: ({ scope }) => scope !== 'individual',
  },
  {
    question: 'Whose names have 3 to 4 letters?',
    query: 'min_letters=3&max_letters=4',
    matches: ({ letters }) => letters >= 3 && letters <= 4,
  },
  { question: 'Whose names have more than 50?', query: 'gt_letters=50', matches: ({ letters }) => letters > 50 },
  {
    question: 'These four, please.',
    query: 'in_id=epo,fra,lat,zul',
    matches: ({ id }) => ['epo', 'fra', 'lat', 'zul'].includes(id),
  },
  {
    question: 'Neither living nor extinct?',
    query: 'exclude_type=living,extinct',
    matches: ({ type }) => !['living', 'extinct'].includes(type),
  },
  {
    question: 'Which names end with "sign language"? (letter case does not matter)',
    query: 'like_name=*sign%20language',
    matches: ({ name }) => name.toLowerCase().endsWith('sign language'),
  },
  {
    question: 'Which have a code of two letters? (a nested field that is there)',
    query: 'has_codes.part1=true',
    matches: ({ codes }) => codes.part1 !== undefined,
  },
  {
    question: 'Which one is "eo"? (a nested field)',
    query: 'codes.part1=eo',
    matches: ({ codes }) => codes.part1 === 'eo',
  },
  {
    question: 'Which stand in parts 1 and 2 of the standard? (a list that contains both)',
    query: 'contains_parts=[1,2]',
    matches: ({ parts }) => parts.includes(1) && parts.includes(2),
  },
  {
    question: 'Which stand in part 1 or part 2?',
    query: 'contains_any_parts=[1,2]',
    matches: ({ parts }) => parts.includes(1) || parts.includes(2),
  },
  {
    question: 'Old ones with a short name and a code in part 2? (filters are combined with "and")',
    query: 'in_type=ancient,historical&max_letters=10&has_codes.part2b=true',
    matches: ({ type, letters, codes }) =>
      ['ancient', 'historical'].includes(type) && letters <= 10 && codes.part2b !== undefined,
  },
];

/**
 * Asks every question of the table.
 *
 * @param {Tour} tour
 */
export async function query({ alice, narrator, languages, records }) {
  narrator.chapter('Ask questions');
  narrator.say('HEAD counts without sending anything.');
  const counted = await alice.request('HEAD', records);
  narrator.show(counted);
  const countedLiving = await alice.request('HEAD', `${records}?type=living`);
  narrator.show(countedLiving);

  narrator.say(
    'A parameter is a filter: field=value, or operator_field=value. Values are typed: 3 is a number, "3" a text.',
  );
  const answers = [];
  for (const { question, query: filters, matches } of questions) {
    const found = await alice.readAll(`${records}?${filters}&_fields=name`);
    const expected = languages.filter(matches).map(({ id }) => id);
    narrator.result(`${String(found.length).padStart(4)}  ${question}  ?${decodeURIComponent(filters)}`);
    answers.push({ query: filters, ids: found.map(({ id }) => id).toSorted(), expected: expected.toSorted() });
  }

  narrator.say('_sort orders, _limit cuts, _fields chooses. Here: the longest names, alphabetical among equals.');
  const sorted = await alice.request('GET', `${records}?_sort=-letters,name&_limit=3&_fields=name,letters`);
  narrator.show(sorted);
  const longest = languages.toSorted((a, b) => b.letters - a.letters || (a.name < b.name ? -1 : 1)).slice(0, 3);
  return {
    total: totalOf(counted),
    totalLiving: totalOf(countedLiving),
    expectedLiving: languages.filter(({ type }) => type === 'living').length,
    answers,
    sorted: listOf(sorted).map(({ id }) => id),
    expectedSorted: longest.map(({ id }) => id),
    fields: Object.keys(listOf(sorted)[0] ?? {}).toSorted(),
  };
}
