// Elaboration: visits the syntax tree of one kernel, with its helpers inlined, and emits the typed Program.
//
// One object elaborates one instance once. Compile-time values remain Values; run-time ones become
// expressions, and statements are appended to the current block. If a symbolic dim turns out to be needed as
// a constant, its name is added to wanted(), and the elaboration must be repeated with that dim specialised,
// so that it is a constant from the first statement on.
#pragma once
#include "compiler/frontend/program/GraphProgram.h"
#include "compiler/frontend/sema/ModuleData.h"
#include "compiler/frontend/sema/Value.h"
#include <map>
#include <set>

namespace tessera::frontend {

class DimExpr;
class EffectfulCalls;
struct GraphState;
struct KernelCall;
struct GraphCall;

class Elaborator {
public:
  Elaborator(const ModuleData &, const FrontendOptions &, const std::set<std::string> &specialized,
             DiagnosticSink &);
  ~Elaborator();

  /// Declares parameters, dims, result annotation and tunables of a function; returns false if there were
  /// errors.
  bool declare(const FunctionDecl &);
  /// Calls declare(), then elaborates the body.
  bool run(const FunctionDecl &);
  /// The same for a graph function.
  bool runGraph(const FunctionDecl &, GraphFunction &out);

  const std::set<std::string> &wanted() const { return wanted_; }
  Kernel takeKernel() { return std::move(kernel_); }
  const Kernel &kernel() const { return kernel_; }

  struct Tunable {
    std::string name;
    std::vector<int64_t> space;
    Range loc;
  };
  const std::vector<Tunable> &tunables() const { return tunables_; }
  /// The annotated results, one per returned value.
  struct TensorType {
    DType dtype = DType::F32;
    std::vector<Dim> dims;
    std::vector<Dim> strides; // empty: contiguous
    Policy policy;
    Range loc;
  };
  const std::vector<TensorType> &results() const { return results_; }

  // The rest is the state and the vocabulary of the rules and of the elaboration itself; only sema uses it.

  static constexpr size_t kMaxRank = 8; // of a tensor

  // --- Names in scope ---
  struct Local {
    Value value;
    int symbol = -1; // the variable that holds the value, if it belongs to this name
    int fixed = 0;   // > 0 inside loops and branches that assign it: the variable keeps its type
    bool isLoopVariable = false;
    Range loc;
    size_t order = 0; // of first definition
  };
  /// The result of a sequence of statements that may return.
  struct Returned {
    bool did = false;
    Value value;
  };
  struct Frame {
    std::string function;
    bool isKernel = false;
    Returned
        returned; // of a kernel and of the functions of a graph; the helpers of kernels go through tail()
    std::map<std::string, Local> locals;
    std::map<std::string, Range> maybeUndefined; // bound on some paths only
    std::set<std::string> assigned;              // every name the function's body binds somewhere
    std::map<std::string, Value> dims;           // of a graph function that is inlined
    std::vector<Specialization> specializations; // of a graph function
  };

  // Declarations (ElabDeclarations.cpp)
  void declareParameter(const ast::Parameter &);
  bool readTensorType(const ast::Expr &, TensorType &);
  bool readStrides(const ast::Expr &, TensorType &);
  void checkStrides();
  bool readDim(const ast::Expr &, Dim &, const std::string &what = "dim");
  bool readDimText(const ast::Expr &, Dim &, const std::string &what);
  std::optional<DType> readDType(const ast::Expr &, Policy &);
  bool readPolicy(const ast::Expr &, Policy &);
  bool readDTypeText(const ast::Expr &, DType &, Policy &);
  void declareResults(const ast::Expr &);
  void declareTunables(const FunctionDecl &);
  void chooseTunables();
  // (ElabSpecialize.cpp)
  bool readSpecialization(const ast::Expr &, Specialization &);
  void declareSpecializations(const FunctionDecl &);
  /// Those of the functions that are being inlined, the innermost function's first.
  std::vector<Specialization> specializationsInForce() const;
  /// Requests of the kernel or function that have no effect, one line each.
  std::vector<std::string> withoutEffect() const;
  /// Is it a dim of this function, not an expression of dims?
  bool isDim(const std::string &symbol) const;
  bool isTensorAnnotation(const ast::Expr &);

  // Names (ElabNames.cpp)
  Value lookup(const ast::Expr &);
  Value lookupGlobal(const std::string &, const Global &, Range);
  Value moduleConstant(const std::string &, const Global &, Range);
  Value debugConstant(Range); // __debug__
  Value atModuleLevel(const ast::Expr &);
  Value member(const std::string &module, const std::string &attribute, Range);
  Value attribute(const ast::Expr &);
  std::string hintInPlaceOf(const std::string &foreign) const;
  std::string methodHint(const std::string &name) const;
  bool foreignAttribute(const ast::Expr &);
  Value dimValue(const std::string &);
  Value dimExtent(const Dim &);
  Value iterator(const std::string &, Range);
  std::vector<std::string> visibleNames() const;
  void undefined(const std::string &, Range);

  // Expressions (ElabExpr.cpp)
  Value evaluate(const ast::Expr &);
  Value operand(const ast::Expr &); // a scalar or tile; any other value is an error
  Value asOperand(Value, Range);
  Value unary(const ast::Expr &);
  Value compareChain(const ast::Expr &);
  Value boolOp(const ast::Expr &);
  Value conditional(const ast::Expr &);
  Value subscript(const ast::Expr &);
  Value operation(const std::string &text, Value, Value, Range); // of a binary operator
  /// A bool scalar. `elementwise` is the hint for tiles: what does the same to each element.
  Value condition(const ast::Expr &, const char *elementwise = nullptr);
  Value truth(Value, Range, const char *elementwise = nullptr);

  // Arithmetic (ElabArith.cpp)
  Value binary(Op, Value, Value, Range);
  static bool isWideChoice(const Value &, const Value &);
  static std::optional<std::pair<int64_t, int64_t>> literalsOf(const Value &, const Value &);
  static Value castConstant(const Value &, DType);
  std::optional<Value> fold(Op, const Value &, const Value *, Range); // ElabFold.cpp
  Value function(Op, Value, Range);
  Value floatOperand(Value, Range, const char *what);
  Value negate(Value, Range);
  /// `where`; with `takesOneSide`, a conditional expression, whose condition is one scalar for the whole
  /// tile.
  Value select(Value, Value, Value, Range, bool takesOneSide = false);
  /// The tile with `fill`, a scalar of its dtype, in the place of elements that are out of bounds.
  Value fillMasked(Value tile, Value fill, Range);
  /// `where` after its condition, which is at `conditionLoc`, was checked.
  Value where(Value, Value, Value, Range conditionLoc, Range);
  bool unify(Value &, Value &, Range, const char *what);
  std::string mixHint(const Value &, const Value &) const;
  std::string literalHint(const Value &, DType) const;
  bool broadcastPair(Value &, Value &, Range);
  Value refuseLiteral(int64_t, DType, Range);
  Value convert(Value, DType, Range); // weak values and exact conversions
  Value cast(Value, DType, Range);    // the language's cast
  Value broadcastTo(Value, const std::vector<int64_t> &, Range);
  Value chooseAs(Value, DType, Range);
  static std::optional<std::pair<int64_t, int64_t>> choiceOf(Op, const Value &, const Value &);
  Value strengthen(Value); // converts it to the type that a variable bound to it gets
  ExprPtr take(Value, Range);
  ExprPtr make(Op, Type, Range, std::vector<ExprPtr> args = {});
  void refusePacked(DType, std::string_view what, Range); // i4 and u4 are moved, compared and cast only
  ExprPtr constInt(int64_t, Range, DType = DType::I64);
  Value expandDims(Value, int axis, Range);
  Value ceilDiv(Value, Value, Range);

  // Calls (ElabCalls.cpp, ElabHelpers.cpp); the rules of the language's functions are in CallRules.h.
  struct BoundArgument {
    size_t index; // among the function's arguments
    const ast::Expr *value;
    Range loc; // the call, of a default
  };
  Value call(const ast::Expr &);
  const ast::Expr *defaultOf(const ops::Argument &);
  /// Binds the arguments of a call from item `first` on, then its keywords, in the order of the source, then
  /// the defaults other than None; `taken` arguments are already bound.
  bool bind(const ast::Expr &call, const LanguageFunction &, size_t taken, size_t first,
            std::vector<BoundArgument> &);
  bool bind(const ast::Expr &call, const LanguageFunction &, KernelCall &);
  bool bind(const ast::Expr &call, const LanguageFunction &, const Value *self, GraphCall &);
  Value kernelCall(const ast::Expr &, const LanguageFunction &, bool isStatement = false);
  Value graphCall(const ast::Expr &, const LanguageFunction &, const Value *self);
  Value inlineHelper(const FunctionDecl &, const ast::Expr &);
  bool callArguments(const FunctionDecl &, const ast::Expr &, std::vector<std::optional<Value>> &);
  Value inlineWith(const FunctionDecl &, std::vector<std::optional<Value>>, std::map<std::string, Value> dims,
                   std::vector<Specialization> specializations = {});
  bool enter(const FunctionDecl &, const ast::Expr &);
  static bool containsReturn(const ast::Block &);
  /// Statements that are still to be elaborated: a block from a position on, then what follows the block.
  struct Rest {
    const ast::Block *block;
    size_t from;
    const Rest *next;
  };
  Returned tail(const Rest &);
  Value contextAttribute(const std::string &, Range);

  // Compile-time arguments
  std::optional<int64_t> staticInt(const ast::Expr &, const char *what);
  std::optional<int64_t> staticInt(const Value &, Range, const char *what);
  bool staticShape(const ast::Expr &, std::vector<int64_t> &);
  std::optional<DType> staticDType(const ast::Expr &);
  std::optional<DType> staticDType(const Value &, Range);
  std::optional<std::string> staticString(const ast::Expr &, const char *what);
  std::optional<int64_t> staticAxis(const ast::Expr *, size_t rank, int64_t otherwise);
  bool checkTileSize(const std::vector<int64_t> &, Range);

  // Memory (ElabMemory.cpp)
  struct Access {
    int param = -1, buffer = -1;
    std::vector<ExprPtr> starts;
    std::vector<int64_t> extents; // -1: an integer index
    std::vector<int64_t> shape;   // of the tile
    bool whole = false;           // a buffer as a whole
    std::vector<int64_t> steps;   // of the last dims; 1 for an index
    // Tiles of indices, by dim, until finishGather makes them starts; where their axes will be in `shape`.
    std::vector<std::pair<size_t, Value>> gathered;
    size_t gatherAxis = 0;
    bool isElement() const { return param >= 0 && shape.empty(); }
  };
  std::optional<Access> access(const ast::Expr &subscriptOrBuffer);
  static Access copyOf(const Access &);
  bool tensorAccess(int param, const ast::Expr &, Access &);
  bool bufferAccess(int symbol, const ast::Expr &, Access &);
  bool indexOne(const ast::Expr &, const Value &extent, const std::string &what, Access &);
  bool indexByTile(Value, Range, const std::string &what, Access &);
  bool gatherSteps(Access &, Range);
  bool finishGather(Access &, Range);
  std::vector<Value> elementIndices(Access,
                                    Range); // an index per dim; tiles that broadcast to the access's shape
  bool batchPrefix(int param, size_t count, Range, Access &);
  Value loadAccess(Access, Range);
  Value pendingLoad(Access, Range); // an expression that reads where it is used
  void storeAccess(Access, Value, Range);
  Value readBuffer(int symbol, Range);
  ExprPtr indexExpr(const Value &, Range); // i64
  ExprPtr fromLinear(const Linear &, Range);
  std::optional<Linear> exactForm(const Value &);
  std::optional<int64_t> extentOf(const Value &start, const Value &stop, Range);
  void recordIteratorStep(const Value &start, int64_t extent, Range);
  bool want(const std::set<std::string> &dims, Range, const std::string &what);

  // Statements (ElabStmt.cpp)
  void block(const ast::Block &);
  void statement(const ast::Stmt &);
  void plainStatement(const ast::Stmt &); // a statement that graph functions treat in the same way
  void assign(const ast::Stmt &);
  void assignTo(const ast::Expr &target, Value, const ast::Expr *source, Range);
  void assignName(const std::string &, Value, bool bareLiteral, Range);
  void augmented(const ast::Stmt &);
  void ifStatement(const ast::Stmt &);
  void whileStatement(const ast::Stmt &);
  void forStatement(const ast::Stmt &);
  void kernelReturn(const ast::Stmt &);
  void returnOne(Value, const ast::Expr &, size_t index, size_t count);
  void storeResult(Value, int param, Range);

  // Control flow (ElabControl.cpp)
  void rebind(Value &place, SymbolId, Value, const std::string &name, Range);
  std::vector<std::string> fixRebound(const std::set<std::string> &assigned, std::vector<SymbolId> &carried);
  void unfix(const std::vector<std::string> &);
  void forgetNew(const std::map<std::string, Local> &before, Range why);
  void mergeBranches(std::map<std::string, Local> thenLocals, std::map<std::string, Local> elseLocals,
                     const std::map<std::string, Local> &before, Stmt &);
  SymbolId declareJoined(const std::string &name, const Type &, Stmt &branch, Value then, Value otherwise,
                         Range);
  /// The value of a name that the sides of a branch set to values of the same type.
  Value joined(const std::string &name, Stmt &branch, Value then, Value otherwise, Range);
  Value joinPaths(const std::string &name, Stmt branch, Value then, Value otherwise, Range);
  Value eitherOr(Value condition, const ast::Expr *then, const ast::Expr *otherwise, bool isTruth, Range);
  static void collectTargets(const ast::Expr &, std::set<std::string> &);
  static void collectAssigned(const ast::Block &, std::set<std::string> &);
  struct LoopBounds {
    Value lo, hi;
    int64_t step = 1;
    int64_t stages = 0;
  };
  bool loopBounds(const ast::Expr &call, const LanguageFunction &, LoopBounds &);
  bool unroll(const ast::Stmt &, std::vector<Value> values);
  Value bindLoopVariable(const std::string &, Range, SymbolId &);

  // Tuples and lists (ElabTuples.cpp)
  Value settled(Value, const std::string &name, Range);
  void carryItems(Value &tuple, const std::string &name, Range, std::vector<SymbolId> &carried);
  void renewItems(Value &);
  size_t placesOf(int list) const;
  void rebindItems(Value &place, Value, const std::string &name, Range);
  std::optional<size_t> itemIndex(const Value &tuple, const ast::Expr &subscript);
  bool assignItem(const ast::Expr &target, Value &, Range);
  bool isJoinable(const Value &, const Value &) const;
  Value pathValue(Value, Range);
  Value chosen(const Value &condition, Value, Value, Range);
  Value sequence(const std::string &operation, Value, Value, Range);
  Value comprehension(const ast::Expr &);
  /// The values of a loop that is unrolled: of static_range, or of a tuple or list. Returns false after an
  /// error.
  bool staticValues(const ast::Expr &, std::vector<Value> &);
  bool bindItem(const ast::Expr &target, Value);

  // Grid (ElabGrid.cpp)
  bool parallelLoop(const ast::Stmt &);
  bool gridCall(const ast::Stmt &);
  bool gridBound(const Value &, Range, ExprPtr &);
  void refuseHiddenDims(const ast::Expr &bound);
  static bool isLaunchExpr(const Expr &);                                // may a launch evaluate it?
  bool addChecks(const Expr &condition, const std::string &says, Range); // Assumptions.cpp
  void finishIterators();
  bool hasEffect(const Stmt &) const;
  bool guarded(const Block &, std::vector<ExprPtr> &bounds) const;
  std::vector<ExprPtr> writtenSizes();
  void dropGuard();
  void finishLanes();
  void finishBatch();
  bool laneGuard(const Expr &, ExprPtr &) const;

  // Graph functions (ElabGraph.cpp): values, names, the frame
  Value graphValue(GraphOp, DType, std::vector<DimExpr> dims, Range, std::vector<int> args = {});
  GraphValue &graphLast();
  int graphNode(const Value &, Range); // the current value of a tensor, or the node of a scalar
  int graphScalar(const Expr &);
  ExprPtr graphVar(int node, Range);
  Value graphCompact(Value, Range);
  const std::vector<DimExpr> &graphDims(const Value &) const;
  std::string graphName(const Value &) const;
  Value graphExtent(const DimExpr &); // an integer scalar
  DimExpr graphDim(const Dim &);
  std::optional<DimExpr> graphDimOf(const Expr &);
  std::optional<DimExpr> graphDimOf(const Value &, Range, const char *what); // reports
  Value graphAttribute(Value, const std::string &, Range);
  Value graphBranch(Range);
  bool graphStatement(const ast::Stmt &); // control flow; false: an ordinary statement
  bool graphLoop(const ast::Stmt &);
  void graphReturn(const ast::Stmt &, Value);
  void graphAbandon(const ast::Stmt &);
  void graphFinish();
  void graphRefuseTf32();

  // ... elementwise (ElabGraphArith.cpp)
  std::optional<std::vector<DimExpr>> graphBroadcast(const std::vector<const Value *> &, Range);
  Value graphElementwise(Op, Value, Range);
  Value graphElementwise(Op, Value, Value, Range);
  Value graphActivation(GraphOp, Value, Range, const char *what);
  Value graphSelect(Value, Value, Value, Range);
  Value graphCast(Value, DType, Range);

  // ... calls (ElabGraphCalls.cpp)
  /// Sets `leading` to what "..." stands for, if a parameter has it.
  bool graphBindDims(const Kernel &callee, const std::vector<TensorType> &results, const ast::Expr &,
                     std::vector<std::optional<Value>> &, std::map<std::string, DimExpr> &,
                     std::optional<std::vector<DimExpr>> &leading);
  /// The value of a callee's dim that follows from an extent that is an expression of it; nothing if none
  /// does for every argument.
  std::optional<DimExpr> graphSolveDim(const Dim &, const Kernel &callee, const std::string &symbol,
                                       const DimExpr &have, const std::map<std::string, DimExpr> &bound,
                                       const std::string &says, Range);
  bool graphTensor(const Value &, Range, size_t minRank); // these report what does not fit
  bool graphFlag(const Value &, Range, const char *what, bool &out);
  bool graphNumber(const Value &, Range, const char *what, double &out);
  Value graphInline(const FunctionDecl &, const ast::Expr &);
  Value graphMatmul(Value, Value, bool transA, bool transB, std::optional<DType>, Range); // GraphRules.cpp
  Value vectorProduct(Value, Value, std::optional<DType>, Range);
  Value graphLaunch(const FunctionDecl &, const ast::Expr &);
  Value graphLaunch(const ModuleData &, const FunctionDecl &, std::vector<std::optional<Value>>,
                    const ast::Expr &);
  /// Launches a kernel of the language's own: the last function of the text, which may call those before it.
  /// Kernels of one name are one kernel: the name tells apart texts that differ.
  Value graphLaunchOwn(const std::string &text, std::vector<std::optional<Value>>, const ast::Expr &call);
  /// A tensor whose elements are unspecified until a kernel writes them. A kernel that gets one reads only
  /// elements that it has written.
  Value graphEmpty(DType, std::vector<DimExpr>, Range);
  int graphKernel(const ModuleData &, const FunctionDecl &, const ast::Expr &,
                  const std::map<std::string, DimExpr> &);

  // ... shapes (ElabGraphShapes.cpp)
  Value graphTranspose(Value, std::vector<int64_t> perm, Range);
  Value graphReshape(Value, const Value &shape, Range, Range shapeLoc);
  Value graphReshapeTo(Value, std::vector<DimExpr>, Range);
  Value graphBroadcastTo(Value, const std::vector<DimExpr> &, Range);
  Value graphSubscript(Value, const ast::Expr &); // GraphSubscript.cpp
  Value graphBox(Value, std::vector<DimExpr>, std::vector<std::string> starts, std::vector<int64_t> steps,
                 Range);
  Value graphPosition(const std::vector<DimExpr> &, int64_t axis, Range); // GraphIndexing.cpp
  Value graphReverse(Value, const std::vector<int64_t> &axes, Range);
  Value graphGather(const Value &table, const std::vector<Value> &indices, std::vector<int64_t> along,
                    std::vector<DimExpr>, Range);
  bool graphShape(const Value &, Range, std::vector<DimExpr> &);
  /// Returns false, with an error, if `value` is known to be negative. If only a call knows the value, the
  /// call checks it.
  bool graphRequire(const DimExpr &value, Code, const std::string &says, Range);
  /// Adds the check that a value, the text of an index expression, is not negative.
  void graphCheck(const std::string &value, const std::string &says, Range);
  std::optional<int64_t> graphAxis(const Value &, Range, size_t rank);
  bool graphAxes(const Value &, Range, size_t rank, std::vector<int64_t> &);

  // Program building
  Stmt &emit(Stmt::Kind, Range);
  SymbolId newSymbol(const std::string &name, Type, Range);
  ExprPtr var(SymbolId, Range);
  Value toVariable(Value, const std::string &name, Range);
  bool inlineable(const Expr &, unsigned &budget) const;
  // WeakReals.cpp
  bool isWeakReal(const Expr &, unsigned &budget) const;
  bool isRepeated(const Value &) const;
  bool hasDoubles() const;
  static constexpr size_t kMaxNodes = 200000;
  bool grow(Range); // counts a node; returns false past the limit
  Value fail(Code, Range, std::string message, std::string hint = {});

  const ModuleData &module_;
  const FrontendOptions &options_;
  const std::set<std::string> &specialized_;
  DiagnosticSink &sink_;
  Kernel kernel_;
  std::vector<Tunable> tunables_;
  std::vector<Specialization> specializations_; // in the order of the decorators
  std::set<std::string> readTunables_;
  std::vector<TensorType> results_;
  bool hasResultAnnotation_ = false;
  std::set<std::string> wanted_, reportedDims_;
  AtomTable atoms_;
  std::map<int, ExprPtr> atomExprs_; // prototypes of the atoms that never change
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame &frame() { return *frames_.back(); }
  std::vector<Block *> blocks_;
  std::map<std::string, Value> constants_; // module constants evaluated so far
  std::set<std::string> evaluating_;
  std::map<std::string_view, ast::Block> defaults_; // of arguments, by their text
  std::set<SymbolId> immutable_;                    // loop and grid variables
  int lists_ = 0;                                   // the identity of the last list
  std::map<SymbolId, DType> bufferAccum_;           // policy of what was copied into a buffer
  size_t nodes_ = 0, localCount_ = 0;
  bool constantsOnly_ = false; // evaluating a module constant
  std::unique_ptr<EffectfulCalls> effects_;
  /// Inside a statement whose calls have effects: every read happens at its position in the order of
  /// evaluation.
  bool ordered_ = false;
  Range bodyLoc_;
  int reportsParam_ = -1;         // the tensor that print and assert_ write; -1: there is none
  std::optional<Range> printOff_; // the first print that is not compiled

  bool isGraph_ = false;              // declaring one
  std::unique_ptr<GraphState> graph_; // set while a graph function is elaborated

  // Grid state
  enum class GridForm : uint8_t { None, Parallel, Explicit };
  GridForm gridForm_ = GridForm::None;
  int controlDepth_ = 0;
  bool gridClosed_ = false; // the parallel loops have ended
  bool sawWork_ = false;    // something other than bindings and allocations was elaborated
  /// Parallel loops at the top of the kernel with what is nested in them: programs of their own.
  struct Phase {
    struct Use {
      bool reads = false, writes = false, atomics = false;
    };
    Range loc;
    size_t first, end;          // its statements in the kernel's body
    std::vector<GridAxis> grid; // of all but the last phase, which has the kernel's, until they are joined
    std::vector<Use> uses;      // by parameter
  };
  static constexpr const char *kSplitKernel =
      "programs do not wait for each other: write a kernel for each phase, and a @ts.jit function that calls "
      "them in order";
  std::vector<Phase> phases_; // Phases.cpp
  bool isNextPhase(const ast::Stmt &);
  bool beginPhase(Range);
  void endPhase();
  void checkPhase();
  void finishPhases();
  Block phaseBody(const Phase &, ExprPtr number);
  ExprPtr programsAlong(const GridAxis &, Range);
  ExprPtr index(Op, ExprPtr, ExprPtr, Range);
  std::vector<Phase::Use> usesBefore_;        // of the phase being elaborated
  std::map<std::string, Local> localsBefore_; // of the first phase
  bool inPhase_ = false;
  std::optional<Range> linearId_;
  struct Iterator {
    std::string name, dim;
    SymbolId symbol;
    int atom;
    int64_t step = 0;
    Range loc, stepLoc;
  };
  std::vector<Iterator> iterators_;
  struct BatchState {
    bool used = false;
    std::vector<std::string> dims;
    std::vector<SymbolId> symbols;
    Range partial, full;
    std::string partialName, fullName;
  } batch_;
};

/// Elaborates one instance of a kernel, and repeats it for each dim that turns out to be needed as a
/// constant. Returns false if there were errors, which are in `sink`.
bool elaborateKernel(const ModuleData &, const FunctionDecl &, const FrontendOptions &, Kernel &out,
                     DiagnosticSink &sink);

} // namespace tessera::frontend
