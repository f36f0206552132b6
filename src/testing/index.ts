// The public entry for authors of backends and plugins: the contract suites as data, the helpers to run them, and a running
// service with a client.
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
} from './contract/contract-case.ts';
export { createBackendContexts } from './service/backend-contexts.ts';
export { cacheCases } from './contract/cache/cache-suite.ts';
export { changeHintsCases, type ChangeHintsCase, type ChangeHintsContext } from './contract/hints/hints-suite.ts';
export { permissionCases } from './contract/permissions/permission-suite.ts';
export {
  durableSecurityStateCases,
  securityStateCases,
  securityStateLimits,
  type SecurityStateCase,
  type SecurityStateContext,
} from './contract/security-state/security-state-suite.ts';
export { storageCases } from './contract/storage/storage-suite.ts';
export { transactionCases } from './contract/transactions/transaction-suite.ts';
export { forEachBackend, testBackends, type TestBackend } from './service/service-backends.ts';
export {
  authorizationOf,
  startTestService,
  type TestClient,
  type TestRequest,
  type TestResponse,
  type TestService,
  type TestServiceOptions,
} from './service/service-client.ts';
