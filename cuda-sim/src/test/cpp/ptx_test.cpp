// The PTX machine, on small texts written after the PTX ISA: results of instructions, lanes that part, and what it
// refuses.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

const std::string HEAD = "// small.ptx\n.version 9.1\n.target sm_90\n.address_size 64\n";

// The kernel k (pointer p, number n) with this body; %rd1 is the pointer and %r1 the thread.
void* kernel(const std::string& body, const std::string& declarations = "") {
    std::string text = HEAD + declarations + R"(
        .visible .entry k(.param .u64 p, .param .u32 n) {
            .reg .pred %p<20>; .reg .b16 %rs<20>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<20>;
            .reg .f64 %fd<10>;
            ld.param.u64 %rd2, [p];
            cvta.to.global.u64 %rd1, %rd2;
            mov.u32 %r1, %tid.x;
        )" + body + "ret;\n}\n";
    void* module = nullptr;
    need(cuModuleLoadData(&module, text.c_str()), "cuModuleLoadData");
    void* function = nullptr;
    need(cuModuleGetFunction(&function, module, "k"), "cuModuleGetFunction");
    return function;
}

// Stores a register at word `%r1` of the result.
std::string store(const std::string& value, const char* type = "u32") {
    return "mul.wide.u32 %rd19, %r1, 4; add.s64 %rd18, %rd1, %rd19; st.global." + std::string(type) + " [%rd18], "
        + value + ";\n";
}

std::vector<uint32_t> ran(void* function, unsigned threads, unsigned n = 0) {
    Address y = upload(std::vector<uint32_t>(threads, 0xabababab));
    run(function, 1, threads, 0, y, n);
    return download<uint32_t>(y, threads);
}

void need32(const std::string& body, const std::string& result, uint32_t expected, const char* type = "u32") {
    uint32_t found = ran(kernel(body + store(result, type)), 32)[7];
    if (found != expected) {
        check(false, (body + ": " + std::to_string(found) + ", not " + std::to_string(expected)).c_str());
    }
}

void integers() {
    start();
    need32("mov.u32 %r2, 10; sub.s32 %r3, %r1, %r2;", "%r3", static_cast<uint32_t>(-3));
    need32("shl.b32 %r3, %r1, 32;", "%r3", 0);
    need32("mov.u32 %r2, -8; shr.s32 %r3, %r2, 40;", "%r3", 0xffffffff);
    need32("mov.u32 %r2, -7; div.s32 %r3, %r2, 2; rem.s32 %r4, %r2, 2; mad.lo.s32 %r5, %r3, 100, %r4;", "%r5",
        static_cast<uint32_t>(-301));
    need32("mov.u32 %r2, -1; mul.hi.u32 %r3, %r2, %r2;", "%r3", 0xfffffffe);
    need32("mov.u32 %r2, -1; mul.hi.s32 %r3, %r2, 5;", "%r3", 0xffffffff);
    need32("mov.u32 %r2, 511; bfi.b32 %r3, %r1, %r2, 4, 3;", "%r3", 511);
    need32("mov.u32 %r2, 0; bfi.b32 %r3, %r1, %r2, 4, 2;", "%r3", 0x30);
    need32("mov.u32 %r2, 0x44332211; mov.u32 %r3, 0x88776655; prmt.b32 %r4, %r2, %r3, 0x7210;", "%r4", 0x88332211);
    need32("mov.b32 {%rs1, %rs2}, -65533; mov.b32 %r3, {%rs2, %rs1};", "%r3", 0x0003ffff);
    need32("setp.lt.s32 %p1, %r1, 8; setp.lt.u32 %p2, %r1, 7; and.pred %p3, %p1, %p2; or.pred %p4, %p3, %p1;"
        " selp.b32 %r3, 5, 6, %p3; selp.b32 %r4, 7, 8, %p4; add.s32 %r5, %r3, %r4;", "%r5", 13);
}

void floats() {
    start();
    // 1 + 2^-23 squared: fused, the last bit of the product counts.
    need32("mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0fBF800002; fma.rn.f32 %f3, %f1, %f1, %f2;", "%f3", 0x28800000,
        "f32");
    need32("mov.f32 %f1, 0f3F800001; mov.f32 %f2, 0f33800000; fma.rm.f32 %f3, %f1, %f2, %f1;", "%f3", 0x3f800001,
        "f32");
    need32("mov.f32 %f1, 0f7FC00000; max.f32 %f2, %f1, 0fC0000000;", "%f2", 0xc0000000, "f32");
    need32("mov.f32 %f1, 0f7FC00000; setp.ltu.f32 %p1, %f1, 0f00000000; setp.lt.f32 %p2, %f1, 0f00000000;"
        " selp.b32 %r2, 2, 0, %p1; selp.b32 %r3, 1, 0, %p2; add.s32 %r4, %r2, %r3;", "%r4", 2);
    need32("mov.f32 %f1, 0f40400000; rcp.rn.f32 %f2, %f1;", "%f2", 0x3eaaaaab, "f32");
    need32("mov.f32 %f1, 0f00000001; ex2.approx.ftz.f32 %f2, %f1;", "%f2", 0x3f800000, "f32");
    need32("mov.f32 %f1, 0f3FC00000; cvt.sat.f32.f32 %f2, %f1;", "%f2", 0x3f800000, "f32");
    need32("mov.f64 %fd1, 0dC00A666666666666; cvt.rzi.f64.f64 %fd2, %fd1; cvt.rn.f32.f64 %f2, %fd2;", "%f2",
        0xc0400000, "f32");
}

void conversions() {
    start();
    // Ties to even, and subnormal halves; TF32 rounds ties away from zero.
    need32("mov.f32 %f1, 0f3F801000; cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;", "%r2", 0x3c00);
    need32("mov.f32 %f1, 0f3F803000; cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;", "%r2", 0x3c02);
    need32("mov.f32 %f1, 0f33800001; cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;", "%r2", 1);
    need32("mov.f32 %f1, 0f477FF000; cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;", "%r2", 0x7c00);
    need32("mov.f32 %f1, 0f3F808000; cvt.rn.bf16.f32 %rs1, %f1; cvt.u32.u16 %r2, %rs1;", "%r2", 0x3f80);
    need32("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; cvt.rn.bf16x2.f32 %r2, %f1, %f2;", "%r2", 0x3f804000);
    need32("mov.f32 %f1, 0f3F801000; cvt.rna.tf32.f32 %r2, %f1;", "%r2", 0x3f802000);
    need32("mov.u32 %r2, 0x0001; cvt.u16.u32 %rs1, %r2; cvt.f32.f16 %f1, %rs1;", "%f1", 0x33800000, "f32");
    need32("mov.f32 %f1, 0fCF800000; cvt.rzi.s32.f32 %r2, %f1;", "%r2", 0x80000000);
    need32("mov.u32 %r2, -5; cvt.s64.s32 %rd3, %r2; shr.s64 %rd4, %rd3, 32; cvt.u32.u64 %r3, %rd4;", "%r3", 0xffffffff);
}

// Each lane loops as often as its number says; lanes meet again before the sum over the warp.
void lanesPart() {
    start();
    std::vector<uint32_t> found = ran(kernel(R"(
            mov.u32 %r2, 0;
            mov.u32 %r3, 0;
        again:
            setp.ge.u32 %p1, %r2, %r1;
            @%p1 bra done;
            add.s32 %r2, %r2, 1;
            and.b32 %r4, %r2, 1;
            setp.eq.s32 %p2, %r4, 0;
            @%p2 bra again;
            add.s32 %r3, %r3, %r2;
            bra.uni again;
        done:
            shfl.sync.bfly.b32 %r5|%p3, %r3, 1, 31, -1;
            vote.sync.any.pred %p4, %p3, -1;
            selp.b32 %r6, %r5, 0, %p4;
        )" + store("%r6")), 32);
    check(found[6] == 16 && found[7] == 9 && found[31] == 225, "sums of odd numbers, exchanged between neighbours");
}

void callsAreReplaced() {
    start();
    std::string twice = ".func (.param .b64 r) twice(.param .b64 a) { .reg .f64 %fd<3>; ld.param.f64 %fd1, [a];"
        " add.f64 %fd2, %fd1, %fd1; st.param.f64 [r+0], %fd2; ret; }\n";
    void* function = kernel("cvt.rn.f64.u32 %fd1, %r1; { .param .b64 in; st.param.f64 [in+0], %fd1; .param .b64 out;"
        " call.uni (out), twice, (in); ld.param.f64 %fd2, [out+0]; } cvt.rn.f32.f64 %f1, %fd2;"
        + store("%f1", "f32"), twice);
    check(std::bit_cast<float>(ran(function, 32)[9]) == 18, "the function doubles");
}

const char* SHARED = ".shared .align 16 .b8 tile[1024];\n";

void sharedRace(Program program) {
    start();
    std::string barrier = program == WRONG ? "" : "bar.sync 0;\n";
    ran(kernel("shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1; bar.sync 0;"
        "st.shared.u32 [%r4], %r2;" + barrier + "xor.b32 %r5, %r2, 128; add.s32 %r6, %r3, %r5;"
        " ld.shared.u32 %r7, [%r6];" + store("%r7"), SHARED), 64);
}

void sharedUnwritten() {
    start();
    ran(kernel("shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1; bar.sync 0;"
        "ld.shared.u32 %r7, [%r4+4];" + store("%r7"), SHARED), 64);
}

void sharedOutside() {
    start();
    ran(kernel("shl.b32 %r2, %r1, 5; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1;", SHARED), 64);
}

void copyNotWaitedFor(Program program) {
    start();
    std::string wait = program == WRONG ? "cp.async.wait_group 1;" : "cp.async.wait_group 0;";
    ran(kernel("shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2; mov.u32 %r5, 0;"
        "cp.async.cg.shared.global [%r4], [%rd1], 16, %r5; cp.async.commit_group;" + wait
        + "ld.shared.u32 %r7, [%r4];" + store("%r7"), SHARED), 32);
}

void divergentBarrier() {
    start();
    ran(kernel("setp.lt.u32 %p1, %r1, 7; @%p1 bra out; bar.sync 0;\nout:\n"), 32);
}

void endedBarrier() {
    start();
    ran(kernel("setp.lt.u32 %p1, %r1, 32; @%p1 bra out; bar.sync 0;\nout:\n"), 64);
}

void outsideMemory() {
    start();
    ran(kernel("add.s32 %r1, %r1, 8;" + store("%r1")), 32);
}

void misaligned() {
    start();
    ran(kernel("st.global.u16 [%rd1+1], %rs1;"), 32);
}

void absentLane() {
    start();
    ran(kernel("setp.lt.u32 %p1, %r1, 7; @%p1 bra out; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nout:\n"), 32);
}

void unknownInstruction() {
    start();
    kernel("frobnicate.u32 %r2, %r1;");
}

void wrongWidth() {
    start();
    kernel("add.s32 %r2, %r1, %rd1;");
}

// d = a b + c with a = row + column / 16, b = identity's first columns, c = 1.
void matrixProduct() {
    start();
    std::string fill = "shr.u32 %r2, %r1, 2; and.b32 %r3, %r1, 3;"
        " cvt.rn.f32.u32 %f1, %r2; add.f32 %f2, %f1, 0f41000000;"
        " cvt.rn.bf16x2.f32 %r10, %f1, %f1; cvt.rn.bf16x2.f32 %r11, %f2, %f2;"
        " shl.b32 %r4, %r3, 1; add.s32 %r5, %r4, 1; setp.eq.s32 %p1, %r4, %r2; setp.eq.s32 %p2, %r5, %r2;"
        " selp.f32 %f3, 0f3F800000, 0f00000000, %p1; selp.f32 %f4, 0f3F800000, 0f00000000, %p2;"
        " cvt.rn.bf16x2.f32 %r12, %f4, %f3; mov.u32 %r13, 0;"
        " mov.f32 %f5, 0f3F800000; mov.f32 %f6, 0f40000000; mov.f32 %f7, 0f3F800000; mov.f32 %f8, 0f3F800000;"
        " mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f5,%f6,%f7,%f8}, {%r10,%r11,%r10,%r11}, {%r12,%r13},"
        " {%f5,%f6,%f7,%f8}; add.f32 %f9, %f6, %f7;";
    std::vector<uint32_t> found = ran(kernel(fill + store("%f9", "f32")), 32);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        float row = static_cast<float>(lane / 4);
        check(std::bit_cast<float>(found[lane]) == row + 2 + row + 8 + 1, "rows g and g + 8, and their addends");
    }
}

// 2^24 + 1 + 1: each 1 is cut to 25 bits behind 2^24 and kept, the sum is cut to 24 bits. 2^26 + 1: the 1 is lost.
void matrixRounding() {
    start();
    auto sum = [](const char* large, const char* one) {
        return std::bit_cast<float>(ran(kernel(std::string("mov.u32 %r10, ") + one + "; mov.u32 %r11, 0;"
            " mov.u32 %r12, 0x3f800000; mov.f32 %f1, " + large + "; mov.f32 %f2, %f1; mov.f32 %f3, %f1;"
            " mov.f32 %f4, %f1;"
            " mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r10,%r10,%r11,%r11}, {%r12,%r11},"
            " {%f1,%f2,%f3,%f4};" + store("%f1", "f32")), 32)[0]);
    };
    check(sum("0f4B800000", "0x3f800000") == 16777220.0f, "four ones and 2^24");
    check(sum("0f4C800000", "0x3f800000") == 67108864.0f, "four ones beside 2^26 are lost");
    check(sum("0f4B800000", "0x3f000000") == 16777218.0f, "four halves and 2^24");
    check(sum("0f4B800000", "0xbf000000") == 16777214.0f, "and subtracted");
    check(sum("0f00000000", "0x3f801fff") == 4.0f, "operands are cut to TF32");
}

void matricesLoaded() {
    start();
    std::string fill = "shl.b32 %r2, %r1, 4; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2; shl.b32 %r5, %r1, 3;"
        " mov.u32 %r6, 0;\nnext:\n add.s32 %r7, %r5, %r6; cvt.u16.u32 %rs1, %r7; shl.b32 %r8, %r6, 1;"
        " add.s32 %r9, %r4, %r8; st.shared.u16 [%r9], %rs1; add.s32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 8;"
        " @%p1 bra next;\n bar.warp.sync -1;";
    std::string plain = fill + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20,%r21,%r22,%r23}, [%r4];";
    std::string trans = fill + "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20,%r21,%r22,%r23}, [%r4];";
    std::vector<uint32_t> second = ran(kernel(plain + store("%r21"), SHARED), 32);
    std::vector<uint32_t> third = ran(kernel(trans + store("%r22"), SHARED), 32);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t g = lane / 4;
        uint32_t t = lane % 4 * 2;
        uint32_t low = 64 + 8 * g + t;
        check(second[lane] == ((low + 1) << 16 | low), "row g, columns 2t and 2t + 1");
        uint32_t turned = 128 + 8 * t + g;
        check(third[lane] == ((turned + 8) << 16 | turned), "rows 2t and 2t + 1, column g");
    }
}

}  // namespace

void addPtx(Suite& suite) {
    suite.clean("ptx integers", integers);
    suite.clean("ptx floats", floats);
    suite.clean("ptx conversions", conversions);
    suite.clean("ptx lanes part and meet", lanesPart);
    suite.clean("ptx calls", callsAreReplaced);
    suite.clean("ptx matrix product", matrixProduct);
    suite.clean("ptx matrix rounding", matrixRounding);
    suite.clean("ptx loads of matrices", matricesLoaded);
    suite.planted("ptx race in shared memory", {"that another warp", "no barrier between"}, sharedRace);
    suite.planted("ptx copy not waited for", {"whose asynchronous copy was not waited for"}, copyNotWaitedFor);
    suite.caught("ptx unwritten shared memory", {"kernel k (small.ptx)", "that nothing wrote"}, sharedUnwritten);
    suite.caught("ptx outside shared memory", {"outside shared memory"}, sharedOutside);
    suite.caught("ptx divergent barrier", {"a barrier that only lanes 0xffffff80"}, divergentBarrier);
    suite.caught("ptx barrier without an ended warp", {"warp 0 has ended while this one waits"}, endedBarrier);
    suite.caught("ptx outside an allocation", {"thread 24: writes 4 bytes out of bounds"}, outsideMemory);
    suite.caught("ptx misaligned access", {"a misaligned address in global memory"}, misaligned);
    suite.caught("ptx shuffle without a lane", {"the mask of lane 7 names 0xffffffff"}, absentLane);
    suite.caught("ptx unknown instruction", {"frobnicate.u32: this instruction is not known"}, unknownInstruction);
    suite.caught("ptx operand of another width", {"operand %rd1 has not 32 bits"}, wrongWidth);
}

}  // namespace test
