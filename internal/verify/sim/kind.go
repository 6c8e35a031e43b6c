package sim

// subject is the part of the library that an operation is about.
type subject uint8

const (
	everything subject = iota
	pools
	timers
	futures
	leases
	supervision
)

// Kind is what an operation does.
type Kind uint8

// The kinds, in the order of the table below.
const (
	kAdvance Kind = iota
	kJump
	kEndContext
	kLabels
	kArmHook
	kFreeHook

	kPost
	kSubmit
	kPostWait
	kSubmitAfter
	kPoolDelay
	kPoolEvery
	kLimitPost
	kLimitSubmit
	kCallerRuns
	kMap
	kSync
	kReturn
	kFail
	kPanic
	kPanicNil
	kGoexit
	kMark
	kPoolShutdown
	kPoolClose

	kDelay
	kEvery
	kStopTicker
	kTimerShutdown
	kTimerClose

	kCompleter
	kComplete
	kCompleteError
	kCancel
	kAbandon
	kOnSettle
	kOnCancel
	kThen
	kRecover
	kShield
	kAll
	kSettled
	kAny
	kRace
	kEach
	kAwait

	kHandle
	kCloseHandle
	kAcquire
	kTryAcquire
	kDo
	kRelease
	kReleaseAgain
	kDiscard
	kDetach
	kArmLease
	kStallOwner
	kArmExecutor
	kReset
	kSweep
	kArmConnect
	kLeaseClose
	kLeaseShutdown

	kSupSubmit
	kSupComplete
	kSupCompleteOld
	kSupReturn
	kSupFail
	kSupPanic
	kSupGoexit
	kSupStorm
	kArmFactory
	kArmLaunch
	kSupStop
	kSupShutdown
)

type kindInfo struct {
	name    string
	subject subject
	weight  int
	rare    bool // at most once in a while: it ends a subject
	exec    func(w *world, op Op)
}

func (k Kind) String() string { return kinds[k].name }

var kinds []kindInfo

func init() {
	// In a function, because what it names reaches kinds again by String.
	kinds = []kindInfo{
		kAdvance:    {"advance", everything, 8, false, (*world).advance},
		kJump:       {"jump", timers, 3, false, (*world).jump},
		kEndContext: {"end-context", everything, 4, false, (*world).endContext},
		kLabels:     {"labels", everything, 1, true, (*world).lookAtLabels},
		kArmHook:    {"arm-hook", everything, 4, true, (*world).armHook},
		kFreeHook:   {"free-hook", everything, 4, false, (*world).freeHook},

		kPost:         {"post", pools, 10, false, (*world).post},
		kSubmit:       {"submit", pools, 10, false, (*world).submit},
		kPostWait:     {"post-wait", pools, 5, false, (*world).postWait},
		kSubmitAfter:  {"submit-after", pools, 4, false, (*world).submitAfter},
		kPoolDelay:    {"pool-delay", pools, 3, false, (*world).poolDelay},
		kPoolEvery:    {"pool-every", pools, 2, false, (*world).poolEvery},
		kLimitPost:    {"limit-post", pools, 4, false, (*world).limitPost},
		kLimitSubmit:  {"limit-submit", pools, 5, false, (*world).limitSubmit},
		kCallerRuns:   {"caller-runs", pools, 2, false, (*world).callerRuns},
		kSync:         {"sync", pools, 3, false, (*world).sync},
		kMap:          {"map", pools, 3, false, (*world).mapItems},
		kReturn:       {"return", pools, 34, false, (*world).endPuppet},
		kFail:         {"fail", pools, 6, false, (*world).endPuppet},
		kPanic:        {"panic", pools, 6, false, (*world).endPuppet},
		kPanicNil:     {"panic-nil", pools, 2, false, (*world).endPuppet},
		kGoexit:       {"goexit", pools, 6, false, (*world).endPuppet},
		kMark:         {"mark", pools, 6, false, (*world).mark},
		kPoolShutdown: {"pool-shutdown", pools, 2, true, (*world).poolShutdown},
		kPoolClose:    {"pool-close", pools, 2, true, (*world).poolClose},

		kDelay:         {"delay", timers, 10, false, (*world).delay},
		kEvery:         {"every", timers, 4, false, (*world).every},
		kStopTicker:    {"stop-ticker", timers, 3, false, (*world).stopTicker},
		kTimerShutdown: {"timer-shutdown", timers, 2, true, (*world).timerShutdown},
		kTimerClose:    {"timer-close", timers, 2, true, (*world).timerClose},

		kCompleter:     {"completer", futures, 10, false, (*world).completer},
		kComplete:      {"complete", futures, 12, false, (*world).complete},
		kCompleteError: {"complete-error", futures, 4, false, (*world).completeError},
		kCancel:        {"cancel", futures, 8, false, (*world).cancel},
		kAbandon:       {"abandon", futures, 3, false, (*world).abandon},
		kOnSettle:      {"on-settle", futures, 6, false, (*world).onSettle},
		kOnCancel:      {"on-cancel", futures, 4, false, (*world).onCancel},
		kThen:          {"then", futures, 6, false, (*world).then},
		kRecover:       {"recover", futures, 3, false, (*world).recoverFrom},
		kShield:        {"shield", futures, 3, false, (*world).shield},
		kAll:           {"all", futures, 3, false, (*world).all},
		kSettled:       {"settled", futures, 3, false, (*world).settledAll},
		kAny:           {"any", futures, 3, false, (*world).anyOf},
		kRace:          {"race", futures, 3, false, (*world).race},
		kEach:          {"each", futures, 2, false, (*world).each},
		kAwait:         {"await", futures, 8, false, (*world).await},

		kHandle:        {"handle", leases, 3, false, (*world).newHandle},
		kCloseHandle:   {"close-handle", leases, 2, false, (*world).closeHandle},
		kAcquire:       {"acquire", leases, 26, false, (*world).acquire},
		kTryAcquire:    {"try-acquire", leases, 3, false, (*world).tryAcquire},
		kDo:            {"do", leases, 3, false, (*world).leaseDo},
		kRelease:       {"release", leases, 20, false, (*world).release},
		kReleaseAgain:  {"release-again", leases, 2, false, (*world).releaseAgain},
		kDiscard:       {"discard", leases, 3, false, (*world).discard},
		kDetach:        {"detach", leases, 2, false, (*world).detach},
		kArmLease:      {"arm-lease", leases, 2, false, (*world).armLease},
		kArmExecutor:   {"arm-executor", leases, 2, false, (*world).armExecutor},
		kStallOwner:    {"stall-owner", leases, 2, false, (*world).stallOwner},
		kReset:         {"reset", leases, 2, false, (*world).reset},
		kSweep:         {"sweep", leases, 2, false, (*world).sweep},
		kArmConnect:    {"arm-connect", leases, 4, false, (*world).armConnect},
		kLeaseClose:    {"lease-close", leases, 2, true, (*world).leaseClose},
		kLeaseShutdown: {"lease-shutdown", leases, 2, true, (*world).leaseShutdown},

		kSupSubmit:      {"sup-submit", supervision, 20, false, (*world).supSubmit},
		kSupComplete:    {"sup-complete", supervision, 12, false, (*world).supComplete},
		kSupCompleteOld: {"sup-complete-old", supervision, 3, false, (*world).supCompleteOld},
		kSupReturn:      {"sup-return", supervision, 3, false, (*world).supExit},
		kSupFail:        {"sup-fail", supervision, 6, false, (*world).supExit},
		kSupPanic:       {"sup-panic", supervision, 4, false, (*world).supExit},
		kSupGoexit:      {"sup-goexit", supervision, 4, false, (*world).supExit},
		kSupStorm:       {"sup-storm", supervision, 8, false, (*world).supStorm},
		kArmLaunch:      {"arm-launch", supervision, 1, true, (*world).armLaunch},
		kArmFactory:     {"arm-factory", supervision, 2, false, (*world).armFactory},
		kSupStop:        {"sup-stop", supervision, 2, true, (*world).supStop},
		kSupShutdown:    {"sup-shutdown", supervision, 2, true, (*world).supShutdown},
	}
}
