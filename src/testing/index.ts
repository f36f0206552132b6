// The public entry for authors of backends and plugins: the contract suites as data, and what is needed to run them.
export {
  createTestClock,
  missingAbilities,
  type Ability,
  type CacheCase,
  type CacheContext,
  type ContractCase,
  type PermissionCase,
  type PermissionContext,
  type StorageCase,
  type StorageContext,
  type TestClock,
  type TransactionCase,
  type TransactionContext,
} from './contract-case.ts';
export { cacheCases } from './cache-suite.ts';
export { permissionCases } from './permission-suite.ts';
export { storageCases } from './storage-suite.ts';
export { transactionCases } from './transaction-suite.ts';
